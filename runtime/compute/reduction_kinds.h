#pragma once
// For each kind of reduction, the functions that take elements, combine them and turn accumulators into results.

#include <cstdint>
#include <limits>
#include <type_traits>

#include "core/tensors/bf16.h"
#include "runtime/compute/nan_aware.h"

namespace mtfc {

template <typename T>
struct Sum {
  using Accumulator = std::conditional_t<std::is_floating_point_v<Computed<T>>, double, uint64_t>;
  static Accumulator identity() { return 0; }
  static Accumulator combine(Accumulator a, Accumulator b) { return a + b; }
  static Accumulator take(T x) { return static_cast<Accumulator>(x); }
};

template <typename T>
struct Prod {
  using Accumulator = typename Sum<T>::Accumulator;
  static Accumulator identity() { return 1; }
  static Accumulator combine(Accumulator a, Accumulator b) { return a * b; }
  static Accumulator take(T x) { return static_cast<Accumulator>(x); }
};

template <typename T>
struct Max {
  using Accumulator = Computed<T>;
  using Limits = std::numeric_limits<Accumulator>;
  static Accumulator identity() { return Limits::has_infinity ? -Limits::infinity() : Limits::lowest(); }
  static Accumulator combine(Accumulator a, Accumulator b) { return larger(a, b); }
  static Accumulator take(T x) { return x; }
};

template <typename T>
struct Min {
  using Accumulator = Computed<T>;
  using Limits = std::numeric_limits<Accumulator>;
  static Accumulator identity() { return Limits::has_infinity ? Limits::infinity() : Limits::max(); }
  static Accumulator combine(Accumulator a, Accumulator b) { return smaller(a, b); }
  static Accumulator take(T x) { return x; }
};

/// Converts to the tensor's type; `divisor` is the count of a mean, otherwise 1.
template <typename A, typename T>
T finish(A sum, double divisor) {
  if constexpr (std::is_same_v<A, double>) return static_cast<T>(divisor == 1 ? sum : sum / divisor);
  return static_cast<T>(sum);
}

}  // namespace mtfc
