#pragma once
// Runs a piece of work in code for the widest vectors that this machine has. A type of work has a static function
// `run(const Work&)`, always inlined, which is compiled once for each kind of vectors.

#include "runtime/compute/tile.h"
#include "runtime/compute/vector_targets.h"

namespace mtfc {

#if defined(__x86_64__)
template <typename Work>
MTFC_AVX512 void run_avx512(const Work& work) {
  Work::run(work);
}
template <typename Work>
MTFC_AVX2 void run_avx2(const Work& work) {
  Work::run(work);
}
#endif

template <typename Work>
void run_widest(const Work& work) {
#if defined(__x86_64__)
  if (vector_level() == VectorLevel::kAvx512) return run_avx512(work);
  if (vector_level() == VectorLevel::kAvx2) return run_avx2(work);
#endif
  Work::run(work);
}

}  // namespace mtfc
