#include "cmd/batch/time_limit.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

namespace mtfc {
namespace {

constexpr int64_t kMostInField = 1'000'000;

std::optional<int64_t> whole(const std::string& text) {
  int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (stop != end || error != std::errc() || value < 0 || value > kMostInField) return std::nullopt;
  return value;
}

// The numbers between the colons; nothing if one of them is none.
std::optional<std::vector<int64_t>> fields(const std::string& text) {
  std::vector<int64_t> found;
  std::istringstream parts(text + ":");
  for (std::string part; std::getline(parts, part, ':');) {
    const std::optional<int64_t> value = whole(part);
    if (!value) return std::nullopt;
    found.push_back(*value);
  }
  return found;
}

// The seconds of a text such as 1d2h30m; nothing for another text, and for a time of 0.
std::optional<int64_t> seconds_with_units(std::string_view text) {
  constexpr std::pair<char, int64_t> kUnits[] = {{'d', 86400}, {'h', 3600}, {'m', 60}, {'s', 1}};
  int64_t seconds = 0;
  for (const auto& [unit, length] : kUnits) {
    const size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
    if (digits == text.size() || text[digits] != unit) continue;
    const std::optional<int64_t> count = whole(std::string(text.substr(0, digits)));
    if (!count) return std::nullopt;
    seconds += *count * length;
    text.remove_prefix(digits + 1);
  }
  return text.empty() && seconds > 0 ? std::optional(seconds) : std::nullopt;
}

}  // namespace

std::optional<std::string> slurm_time(const std::string& time) {
  if (seconds_of(time)) return time;
  const std::optional<int64_t> seconds = seconds_with_units(time);
  if (!seconds) return std::nullopt;
  const int64_t days = *seconds / 86400, hours = *seconds / 3600 % 24, minutes = *seconds / 60 % 60;
  return fmt::format("{}{:02}:{:02}:{:02}", days > 0 ? fmt::format("{}-", days) : "", hours, minutes,
                     *seconds % 60);
}

std::optional<int64_t> seconds_of(const std::string& time) {
  const size_t dash = time.find('-');
  const bool has_days = dash != std::string::npos;
  const std::optional<int64_t> days = has_days ? whole(time.substr(0, dash)) : 0;
  std::optional<std::vector<int64_t>> parts = fields(has_days ? time.substr(dash + 1) : time);
  if (!days || !parts || parts->size() > 3) return std::nullopt;
  // The first number stands for hours after days and before two others, else for minutes.
  if (!has_days && parts->size() < 3) parts->insert(parts->begin(), 0);
  parts->resize(3);
  const int64_t seconds = ((*days * 24 + (*parts)[0]) * 60 + (*parts)[1]) * 60 + (*parts)[2];
  return seconds > 0 ? std::optional(seconds) : std::nullopt;
}

}  // namespace mtfc
