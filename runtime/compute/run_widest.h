#pragma once
// Runs code for the widest vectors that this machine has. A type of code has a static function `run`, always inlined,
// which is compiled once for each kind of vectors.

#include "runtime/compute/tile.h"
#include "runtime/compute/vector_targets.h"

namespace mtfc {

/// Code::run for each kind of vectors.
template <typename Code, typename Run = decltype(&Code::run)>
struct ForVectors;

template <typename Code, typename Result, typename... Args>
struct ForVectors<Code, Result (*)(Args...)> {
#if defined(__x86_64__)
  MTFC_AVX512 static Result avx512(Args... args) {
    return Code::run(args...);
  }
  MTFC_AVX2 static Result avx2(Args... args) {
    return Code::run(args...);
  }
#endif
  static Result plain(Args... args) {
    return Code::run(args...);
  }
};

/// A pointer to the one for this machine, for work that chooses once and runs often.
template <typename Code>
auto widest_function() {
#if defined(__x86_64__)
  if (vector_level() == VectorLevel::kAvx512) return ForVectors<Code>::avx512;
  if (vector_level() == VectorLevel::kAvx2) return ForVectors<Code>::avx2;
#endif
  return ForVectors<Code>::plain;
}

/// Runs `Work::run(work)`.
template <typename Work>
void run_widest(const Work& work) {
#if defined(__x86_64__)
  if (vector_level() == VectorLevel::kAvx512) return ForVectors<Work>::avx512(work);
  if (vector_level() == VectorLevel::kAvx2) return ForVectors<Work>::avx2(work);
#endif
  Work::run(work);
}

}  // namespace mtfc
