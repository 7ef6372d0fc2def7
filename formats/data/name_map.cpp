#include "formats/data/name_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <string_view>

#include "core/diagnostics/error.h"
#include "formats/json/mapped_file.h"

namespace mtfc {
namespace {

std::string trimmed(const std::string& text) {
  constexpr const char* kSpaces = " \t\r\n";
  const size_t first = text.find_first_not_of(kSpaces);
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(kSpaces) + 1 - first);
}

// Stores in `captures` the text of `name` that each star of `pattern` matches, each as long as possible.
bool matches(std::string_view pattern, std::string_view name, std::vector<std::string_view>& captures) {
  if (pattern.empty()) return name.empty();
  if (pattern[0] != '*')
    return !name.empty() && pattern[0] == name[0] && matches(pattern.substr(1), name.substr(1), captures);
  for (size_t length = std::min(name.find_first_of("./"), name.size()) + 1; length-- > 0;) {
    captures.push_back(name.substr(0, length));
    if (matches(pattern.substr(1), name.substr(length), captures)) return true;
    captures.pop_back();
  }
  return false;
}

}  // namespace

NameMap::NameMap(const std::vector<std::string>& rules) {
  for (const std::string& rule : rules) {
    if (rule.find('=') != std::string::npos) {
      add(rule, "--map");
      continue;
    }
    std::string text;
    try {
      const auto file = MappedFile::open(rule);
      text.assign(reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size());
    } catch (const UnreadableFile& error) {
      throw UserError(fmt::format("--map takes FROM=TO or a file of such lines, but '{}' can't be read: {}",
                                  rule, error.reason));
    }
    std::istringstream lines(text);
    int number = 0;
    for (std::string line; std::getline(lines, line);) {
      ++number;
      const std::string rule_text = trimmed(line);
      if (!rule_text.empty() && rule_text[0] != '#') add(rule_text, fmt::format("{}:{}", rule, number));
    }
  }
}

void NameMap::add(const std::string& rule, const std::string& origin) {
  const size_t equals = rule.find('=');
  const std::string from = trimmed(rule.substr(0, equals));
  if (equals == std::string::npos || from.empty())
    throw UserError(fmt::format("{}: '{}' is not of the form FROM=TO", origin, rule),
                    "as in 'h.*.ln_1.weight=layer_*/norm/scale'; nothing after = leaves tensors out");
  const std::string to = trimmed(rule.substr(equals + 1));
  const auto stars = [](const std::string& text) { return std::count(text.begin(), text.end(), '*'); };
  if (stars(to) > stars(from))
    throw UserError(fmt::format("{}: '{}' has more * after = than before it", origin, rule),
                    "each one after = inserts the text that the * in the same place before = has matched");
  constexpr int kMostStars = 8;  // more would take long to try
  if (stars(from) > kMostStars)
    throw UserError(fmt::format("{}: '{}' has more than {} *", origin, rule, kMostStars));
  rules_.emplace_back(from, to);
}

std::optional<std::string> NameMap::renamed(const std::string& name) const {
  for (const auto& [from, to] : rules_) {
    std::vector<std::string_view> captures;
    if (!matches(from, name, captures)) continue;
    if (to.empty()) return std::nullopt;
    std::string result;
    size_t star = 0;
    for (const char c : to) {
      if (c == '*')
        result += captures[star++];
      else
        result += c;
    }
    return result;
  }
  return name;
}

}  // namespace mtfc
