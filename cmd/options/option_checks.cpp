#include "cmd/options/option_checks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/diagnostics/suggest.h"

namespace mtfc {
namespace {

std::string check_whole_number(const std::string& text, int64_t least, int64_t most) {
  int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (stop == end && error == std::errc::result_out_of_range)
    return fmt::format("the number {} is too large", text);
  if (stop != end || error != std::errc()) return fmt::format("expected a whole number, found '{}'", text);
  if (value < least) return fmt::format("expected {} or more, found {}", least, text);
  return value > most ? fmt::format("expected at most {}, found {}", most, text) : "";
}

// Describes the fault in a number that must be finite and `range`; "" if there is none.
std::string check_number(const std::string& text, bool (*is_right)(double), const char* range) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (stop != end || error != std::errc() || !std::isfinite(value))
    return fmt::format("expected a number, found '{}'", text);
  return is_right(value) ? "" : fmt::format("expected a number {}, found {}", range, text);
}

}  // namespace

ValueCheck whole_number(int64_t least, int64_t most) {
  return {[=](const std::string& text) { return check_whole_number(text, least, most); }};
}

ValueCheck positive_number() {
  return {[](const std::string& text) {
    return check_number(
        text, [](double value) { return value > 0; }, "above 0");
  }};
}

ValueCheck number_not_negative() {
  return {[](const std::string& text) {
    return check_number(
        text, [](double value) { return value >= 0; }, "of at least 0");
  }};
}

ValueCheck one_of(const std::vector<std::string>& words) {
  const std::string list = fmt::format("{}", fmt::join(words, ", "));
  return {[words, list](const std::string& text) -> std::string {
            if (std::find(words.begin(), words.end(), text) != words.end()) return "";
            const std::string near = did_you_mean(text, words);
            return fmt::format("'{}' is not one of {}{}", text, list, near.empty() ? "" : " - " + near);
          },
          words};
}

}  // namespace mtfc
