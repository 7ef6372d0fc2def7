#include "cmd/terminal/progress.h"

#include <fmt/format.h>

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

std::string three_digits(double rate) {  // without an exponent even if it is large
  return rate < 100 ? fmt::format("{:.3g}", rate) : fmt::format("{:.0f}", rate);
}

}  // namespace

std::string to_text(const std::vector<NamedNumber>& numbers) {
  std::string text;
  for (const auto& [name, value] : numbers)
    text += fmt::format("{}{} {:.6g}", text.empty() ? "" : "  ", printable(name), value);
  return text;
}

Progress::Progress(const RunLength& length, bool speaks, bool terminal, int width)
    : length_(length),
      speaks_(speaks),
      terminal_(terminal),
      width_(static_cast<size_t>(width)),
      start_(std::chrono::steady_clock::now()),
      last_(start_) {}

void Progress::show(int64_t step, const std::vector<NamedNumber>& numbers) {
  if (!speaks_) return;
  const auto now = std::chrono::steady_clock::now();
  const double elapsed = std::chrono::duration<double>(now - start_).count();
  const auto [done, steps, rows] = length_;
  // A terminal is updated ten times a second; elsewhere a line is printed every tenth of the run and every
  // minute.
  const bool due = terminal_ ? now - last_ > std::chrono::milliseconds(100)
                             : step * 10 / steps != (step - 1) * 10 / steps || now - last_ > kPatience;
  if (!due && step != steps && step != done + 1) return;
  last_ = now;
  const double rate = static_cast<double>(step - done) / std::max(elapsed, 1e-9);
  std::string line = fmt::format("step {}/{}  {}{}{} steps/s", step, steps, to_text(numbers),
                                 numbers.empty() ? "" : "  ", three_digits(rate));
  if (rows > 1) line += fmt::format("  {} samples/s", three_digits(rate * static_cast<double>(rows)));
  if (step < steps) line += "  " + duration(static_cast<double>(steps - step) / rate) + " left";
  if (!terminal_) {
    std::cerr << line + "\n" << std::flush;  // in one piece, so that other streams can't cut in
    return;
  }
  if (line.size() >= width_) line.resize(width_ > 0 ? width_ - 1 : 0);
  std::cerr << "\r\033[K" << line << std::flush;
  shown_ = true;
}

void Progress::clear() {
  if (shown_) std::cerr << "\r\033[K" << std::flush;
  shown_ = false;
}

}  // namespace mtfc
