#include "runtime/calibrate/stopwatch.h"

#include <algorithm>
#include <chrono>
#include <vector>

namespace mtfc {
namespace {

constexpr double kLongest = 2e-3;  // seconds for a sample of short work, if the budget is large
constexpr int kFewest = 3, kMost = 15;

}  // namespace

// Measures until the last rank is done: if ranks share cores, a rank without one makes the others wait.
double Stopwatch::sample(const std::function<void()>& work, int64_t repeats) {
  processes_.barrier();
  const auto start = std::chrono::steady_clock::now();
  for (int64_t i = 0; i < repeats; ++i) work();
  processes_.barrier();
  const std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - start;
  return static_cast<double>(processes_.maximum(static_cast<int64_t>(taken.count()))) * 1e-9 /
         static_cast<double>(repeats);
}

std::vector<double> Stopwatch::samples(const std::function<void()>& work) {
  sample(work, 1);  // touches memory for the first time
  const double first = std::max(1e-9, sample(work, 1));
  const auto repeats =
      static_cast<int64_t>(std::clamp(std::min(kLongest, budget_ / 10) / first, 1.0, 10000.0));
  const auto count =
      std::clamp(static_cast<int>(budget_ / (first * static_cast<double>(repeats))), kFewest, kMost);
  std::vector<double> taken;
  for (int i = 0; i < count; ++i) taken.push_back(sample(work, repeats));
  return taken;
}

double Stopwatch::seconds(const std::function<void()>& work) {
  std::vector<double> all = samples(work);
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
  std::nth_element(all.begin(), middle, all.end());
  return *middle;
}

double Stopwatch::least_seconds(const std::function<void()>& work) {
  const std::vector<double> all = samples(work);
  return *std::min_element(all.begin(), all.end());
}

}  // namespace mtfc
