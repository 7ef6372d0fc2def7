#pragma once
#include <cstdint>
#include <vector>

namespace mtfc {

/// a/b for b > 0, rounded to minus infinity.
constexpr int64_t floor_div(int64_t a, int64_t b) {
  return a / b - (a % b < 0 ? 1 : 0);
}
/// a/b for b > 0, rounded to plus infinity.
constexpr int64_t ceil_div(int64_t a, int64_t b) {
  return a / b + (a % b > 0 ? 1 : 0);
}
/// The numbers that divide `number`, which is at least 1, in ascending order. Takes the square root of it in steps.
inline std::vector<int64_t> divisors(int64_t number) {
  std::vector<int64_t> small, large;
  for (int64_t d = 1; d <= number / d; ++d) {
    if (number % d != 0) continue;
    small.push_back(d);
    if (d != number / d) large.push_back(number / d);
  }
  small.insert(small.end(), large.rbegin(), large.rend());
  return small;
}

}  // namespace mtfc
