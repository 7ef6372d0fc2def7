#include "core/program/repeated_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/diagnostics/error.h"

namespace mtfc {
namespace {

// A name, cut at the numbers of its components: texts[0] numbers[0] texts[1] ...
struct NumberedName {
  std::vector<std::string> texts = {""};
  std::vector<std::string> numbers;  // digits
};

NumberedName cut(std::string_view name) {
  NumberedName made;
  for (size_t begin = 0; begin <= name.size();) {
    const size_t end = std::min(name.find('/', begin), name.size());
    const std::string_view component = name.substr(begin, end - begin);
    const size_t last = component.find_last_not_of("0123456789");
    const bool is_numbered =
        last != std::string_view::npos && last > 0 && last + 1 < component.size() && component[last] == '_';
    made.texts.back() += begin == 0 ? "" : "/";
    made.texts.back() += is_numbered ? component.substr(0, last + 1) : component;
    if (is_numbered) {
      made.numbers.emplace_back(component.substr(last + 1));
      made.texts.emplace_back();
    }
    begin = end + 1;
  }
  return made;
}

// `between` has a text for each number.
std::string joined(const std::vector<std::string>& texts, const std::vector<std::string>& between) {
  std::string name = texts.front();
  for (size_t i = 0; i < between.size(); ++i) name += between[i] + texts[i + 1];
  return name;
}

// Orders digits by their value; 7 comes before 07.
struct ByValue {
  bool operator()(const std::string& a, const std::string& b) const {
    return a.size() != b.size() ? a.size() < b.size() : a < b;
  }
};
using Numbers = std::set<std::string, ByValue>;

bool follows(const std::string& number, const std::string& before) {
  constexpr size_t kMostDigits = 18;  // of an int64_t
  const auto is_plain = [](const std::string& digits) {
    return digits.size() <= kMostDigits && (digits.size() == 1 || digits.front() != '0');
  };
  return is_plain(number) && is_plain(before) && std::stoll(number) == std::stoll(before) + 1;
}

// `{0,2,5..7}`, and a single number as it is.
std::string listed(const Numbers& numbers) {
  if (numbers.size() == 1) return *numbers.begin();
  constexpr size_t kShortestRange = 3;
  const std::vector<std::string> all(numbers.begin(), numbers.end());
  std::string text;
  for (size_t begin = 0; begin < all.size();) {
    size_t end = begin + 1;
    while (end < all.size() && follows(all[end], all[end - 1])) ++end;
    if (end - begin < kShortestRange) end = begin + 1;
    text += (text.empty() ? "" : ",") + all[begin];
    if (end - begin >= kShortestRange) text += ".." + all[end - 1];
    begin = end;
  }
  return "{" + text + "}";
}

}  // namespace

std::string unnumbered(std::string_view name) {
  const NumberedName made = cut(name);
  return joined(made.texts, std::vector<std::string>(made.numbers.size(), "*"));
}

std::string repetition(std::string_view name) {
  return fmt::format("{}", fmt::join(cut(name).numbers, "/"));
}

std::string folded(const std::vector<std::string>& names) {
  if (names.empty()) return "";
  const std::vector<std::string> texts = cut(names.front()).texts;
  std::set<std::vector<std::string>> found;
  std::vector<Numbers> numbers(texts.size() - 1);  // by component
  for (const std::string& name : names) {
    const NumberedName made = cut(name);
    check_invariant(made.texts == texts, "names of different forms are folded into one");
    found.insert(made.numbers);
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i].insert(made.numbers[i]);
  }
  size_t combinations = 1;
  for (const Numbers& component : numbers)
    if (combinations <= found.size()) combinations *= component.size();
  std::vector<std::string> between;
  for (const Numbers& component : numbers)
    between.push_back(component.size() == 1 || combinations == found.size() ? listed(component) : "*");
  return joined(texts, between);
}

}  // namespace mtfc
