#pragma once
#include <cstdint>

namespace mtfc {

/// a/b for b > 0, rounded to minus infinity.
constexpr int64_t floor_div(int64_t a, int64_t b) {
  return a / b - (a % b < 0 ? 1 : 0);
}
/// a/b for b > 0, rounded to plus infinity.
constexpr int64_t ceil_div(int64_t a, int64_t b) {
  return a / b + (a % b > 0 ? 1 : 0);
}

}  // namespace mtfc
