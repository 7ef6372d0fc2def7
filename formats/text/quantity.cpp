#include "formats/text/quantity.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <utility>

namespace mtfc {
namespace {

std::string scaled(int64_t count, double step, const std::array<const char*, 7>& prefixes,
                   const std::string& unit) {
  double value = static_cast<double>(count);
  size_t prefix = 0;
  // 999.5 would round to 1000.
  for (; std::abs(value) >= (step == 1000 ? 999.5 : 1023.5) && prefix + 1 < prefixes.size(); ++prefix)
    value /= step;
  if (prefix == 0) return fmt::format("{}{}{}", count, unit.empty() ? "" : " ", unit);
  const int decimals = std::abs(value) >= 99.95 ? 0 : std::abs(value) >= 9.995 ? 1 : 2;
  return fmt::format("{:.{}f} {}{}", value, decimals, prefixes[prefix], unit);
}

constexpr std::array<const char*, 7> kBinary = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
constexpr std::array<const char*, 7> kDecimal = {"", "k", "M", "G", "T", "P", "E"};

// `80 GB`, if at most two decimals say all of it; otherwise "".
std::string exact(int64_t bytes, int64_t step, const std::array<const char*, 7>& prefixes) {
  int64_t unit = 1;
  size_t prefix = 0;
  for (; bytes / unit >= step && prefix + 1 < prefixes.size(); ++prefix) unit *= step;
  const long double hundredths = static_cast<long double>(bytes) * 100 / static_cast<long double>(unit);
  if (hundredths != std::floor(hundredths)) return "";
  const auto value = static_cast<double>(hundredths / 100);
  return fmt::format("{:.6g} {}B", value, prefixes[prefix]);
}

}  // namespace

std::string bytes_text(int64_t bytes) {
  return scaled(bytes, 1024, kBinary, "B");
}

bool is_decimal(int64_t bytes) {
  if (bytes <= 0) return false;
  const std::string decimal = exact(bytes, 1000, kDecimal), binary = exact(bytes, 1024, kBinary);
  return !decimal.empty() && (binary.empty() || decimal.size() <= binary.size());
}

std::string memory_text(int64_t bytes) {
  const std::string text = is_decimal(bytes) ? exact(bytes, 1000, kDecimal) : exact(bytes, 1024, kBinary);
  return text.empty() ? bytes_text(bytes) : text;
}

std::string bytes_argument(int64_t bytes) {
  std::string text = memory_text(bytes);
  std::erase(text, ' ');
  return parse_bytes(text) == bytes ? text : fmt::to_string(bytes);
}

std::string bytes_beside(int64_t bytes, int64_t memory) {
  return is_decimal(memory) ? scaled(bytes, 1000, kDecimal, "B") : bytes_text(bytes);
}

std::string fit_text(int64_t needed, int64_t available) {
  const std::string most = memory_text(available);
  if (needed > available)
    return fmt::format("{} more than {}", bytes_beside(needed - available, available), most);
  std::string need = bytes_beside(needed, available);
  // The unit is said once if both have the same.
  const size_t unit = need.find(' ');
  if (need.substr(unit) == most.substr(most.find(' '))) need.resize(unit);
  return fmt::format("fits, {} of {}", need, most);
}

std::string count_text(int64_t count, const std::string& unit) {
  return scaled(count, 1000, kDecimal, unit);
}

std::string seconds_text(double seconds) {
  if (seconds <= 0) return "0 s";
  static constexpr std::array<const char*, 4> kUnits = {"s", "ms", "us", "ns"};
  size_t unit = 0;
  for (; seconds < 0.9995 && unit + 1 < kUnits.size(); ++unit) seconds *= 1e3;
  const int decimals = seconds >= 99.95 ? 0 : seconds >= 9.995 ? 1 : 2;
  return fmt::format("{:.{}f} {}", seconds, decimals, kUnits[unit]);
}

std::string duration_text(double seconds) {
  static constexpr std::array<std::pair<double, const char*>, 3> kUnits = {
      {{86400, "days"}, {3600, "hours"}, {60, "minutes"}}};
  for (const auto& [length, unit] : kUnits) {
    if (seconds < length) continue;
    const double count = seconds / length;
    return fmt::format("{} {}", amount_text(count), unit);
  }
  return seconds_text(seconds);
}

std::string amount_text(double amount) {
  if (amount < 99.95) return fmt::format("{:.{}f}", amount, amount < 9.995 ? 2 : 1);
  std::string digits = fmt::format("{:.0f}", amount);
  for (size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, ",");
  return digits;
}

std::string grouped(int64_t count) {
  std::string digits = fmt::format("{}", count);
  const size_t first = count < 0 ? 1 : 0;
  for (size_t at = digits.size(); at > first + 3; at -= 3) digits.insert(at - 3, ",");
  return digits;
}

std::string counted(int64_t count, const std::string& noun, const std::string& ending) {
  return grouped(count) + " " + noun + (count == 1 ? "" : ending);
}

std::optional<int64_t> parse_bytes(std::string_view text) {
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  if (error != std::errc()) return std::nullopt;
  std::string unit;
  for (const char* at = stop; at != end; ++at)
    if (*at != ' ') unit += static_cast<char>(std::tolower(static_cast<unsigned char>(*at)));
  double scale = unit.empty() || unit == "b" ? 1 : 0;
  const std::string_view prefixes = "kmgtpe";
  for (size_t i = 0; i < prefixes.size(); ++i) {
    const double power = static_cast<double>(i + 1);
    if (unit == fmt::format("{}b", prefixes[i])) scale = std::pow(1000.0, power);
    if (unit == fmt::format("{}ib", prefixes[i])) scale = std::pow(1024.0, power);
  }
  const double bytes = std::floor(number * scale);
  if (!(bytes >= 1) || bytes >= 9.2e18) return std::nullopt;
  return static_cast<int64_t>(bytes);
}

}  // namespace mtfc
