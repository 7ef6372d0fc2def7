#include "cmd/terminal/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iostream>

#include "core/diagnostics/printable.h"

namespace mtfc {
namespace {

constexpr std::chrono::minutes kPatience{1};

std::string duration(double seconds) {
  const auto whole = std::llround(seconds);
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{}:{:02} min", whole / 60, whole % 60);
  return fmt::format("{}:{:02} h", whole / 3600, whole / 60 % 60);
}

// With two dots in the place of numbers that are left out. Of the rates there are the first `rates`, in the order of
// their importance.
std::string joined(const ProgressParts& parts, size_t numbers, size_t rates) {
  std::string line = parts.step;
  const auto add = [&](const std::string& part) {
    if (!part.empty()) line += "  " + part;
  };
  for (size_t i = 0; i < numbers; ++i) add(parts.numbers[i]);
  if (numbers < parts.numbers.size()) add("..");
  if (rates >= 1) add(parts.steps_rate);
  if (rates >= 4) add(parts.rows_rate);
  if (rates >= 3) add(parts.tokens_rate);
  if (rates >= 2) add(parts.mfu);
  add(parts.left);
  return line;
}

std::string three_digits(double rate) {  // without an exponent even if it is large
  return rate < 100 ? fmt::format("{:.3g}", rate) : fmt::format("{:.0f}", rate);
}

std::string text_of(const RunNumber& number) {
  if (const bool* truth = std::get_if<bool>(&number)) return *truth ? "true" : "false";
  if (const int64_t* whole = std::get_if<int64_t>(&number)) return fmt::format("{}", *whole);
  return number_text(std::get<double>(number), 6);
}

std::vector<std::string> texts_of(const std::vector<NamedNumber>& numbers) {
  std::vector<std::string> texts;
  for (const auto& [name, value] : numbers) texts.push_back(printable(name) + " " + text_of(value));
  return texts;
}

}  // namespace

std::string to_text(const std::vector<NamedNumber>& numbers) {
  std::string text;
  for (const std::string& number : texts_of(numbers)) text += (text.empty() ? "" : "  ") + number;
  return text;
}

std::string progress_line(const ProgressParts& parts, size_t width) {
  const size_t all = parts.numbers.size();
  std::vector<std::string> lines = {joined(parts, all, 4), joined(parts, all, 3), joined(parts, all, 2)};
  for (size_t numbers = all; numbers > 0; --numbers) lines.push_back(joined(parts, numbers, 1));
  if (all > 0) lines.push_back(joined(parts, 1, 0));
  lines.push_back(joined(parts, 0, 0));
  lines.push_back(parts.step + (parts.left.empty() ? "" : "  " + parts.left));
  for (const std::string& line : lines)
    if (line.size() <= width) return line;
  return (parts.left.empty() ? parts.step : parts.left).substr(0, width);
}

std::optional<double> efficiency(const PeakTime& peak, double seconds) {
  if (peak.seconds <= 0 || (peak.is_measured && peak.seconds > seconds)) return std::nullopt;
  return peak.seconds / seconds;
}

std::string mfu_text(const PeakTime& peak, double mean, double fastest) {
  if (peak.seconds <= 0) return "";
  const std::optional<double> mfu = efficiency(peak, mean);
  if (!mfu) return "MFU not known (the peak rate was measured beside other work)";
  if (!peak.is_measured && peak.seconds > std::min(mean, fastest))
    return "MFU not known (the peak rate of the profile is lower than what this machine does)";
  const std::string of = peak.profile.empty() ? "" : " of the peak rate of " + printable(peak.profile);
  return fmt::format("MFU {:.3g} %{}", 100 * *mfu, of);
}

Progress::Progress(const RunLength& length, bool is_root, bool terminal, int width)
    : length_(length),
      is_root_(is_root),
      terminal_(terminal),
      width_(static_cast<size_t>(width)),
      start_(std::chrono::steady_clock::now()),
      last_(start_) {}

void Progress::show(int64_t step, const std::vector<NamedNumber>& numbers, double seconds) {
  if (!is_root_) return;
  const auto now = std::chrono::steady_clock::now();
  const auto& [done, steps, rows, tokens, peak] = length_;
  const bool is_first = step <= done + 1;
  if (is_first) after_first_ = now;
  // A terminal is updated ten times a second; elsewhere a line is printed every tenth of the run and every
  // minute.
  const bool due = terminal_ ? now - last_ > std::chrono::milliseconds(100)
                             : step * 10 / steps != (step - 1) * 10 / steps || now - last_ > kPatience;
  if (!due && step != steps && step != done + 1) return;
  last_ = now;
  const double rate = 1 / std::max(seconds, 1e-9);
  const std::chrono::duration<double> elapsed = is_first ? now - start_ : now - after_first_;
  const double each = elapsed.count() / static_cast<double>(is_first ? 1 : step - done - 1);
  ProgressParts parts{fmt::format("step {}/{}", step, steps), texts_of(numbers),
                      three_digits(rate) + " steps/s", "", ""};
  if (rows > 1) parts.rows_rate = three_digits(rate * static_cast<double>(rows)) + " samples/s";
  if (tokens > rows) parts.tokens_rate = three_digits(rate * static_cast<double>(tokens)) + " tokens/s";
  if (const auto mfu = efficiency(peak, 1 / rate); mfu && *mfu <= 1)
    parts.mfu = fmt::format("MFU {:.3g} %", 100 * *mfu);
  if (step < steps) parts.left = duration(static_cast<double>(steps - step) * each) + " left";
  if (!terminal_) {
    // In one piece, so that other streams can't cut in.
    std::cerr << progress_line(parts, std::string::npos) + "\n" << std::flush;
    return;
  }
  const std::string line = progress_line(parts, width_ > 0 ? width_ - 1 : 0);
  std::cerr << "\r\033[K" << line << std::flush;
  shown_ = true;
}

void Progress::clear() {
  if (shown_) std::cerr << "\r\033[K" << std::flush;
  shown_ = false;
}

}  // namespace mtfc
