#include "runtime/compute/threads.h"

#include <omp.h>
#if defined(__SSE__)
#include <xmmintrin.h>
#endif

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace mtfc {

int default_threads(int cores, int ranks) {
  return std::max(1, cores / std::max(1, ranks));
}

void set_threads(int threads) {
  omp_set_dynamic(0);
  omp_set_num_threads(threads);
#pragma omp parallel
  flush_denormals();
}

int threads() {
  return omp_get_max_threads();
}

std::optional<double> seconds_without_core() {
  double nanoseconds = 0;
  std::error_code error;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task", error)) {
    std::ifstream file(thread.path() / "schedstat");
    double runs = 0, waits = 0;  // nanoseconds, of the thread
    if (!(file >> runs >> waits)) return std::nullopt;
    nanoseconds += waits;
  }
  return error ? std::nullopt : std::optional(nanoseconds / 1e9);
}

void flush_denormals() {
#if defined(__SSE__)
  constexpr unsigned kOperandsAreZero = 1U << 6, kFlushToZero = 1U << 15;
  _mm_setcsr(_mm_getcsr() | kOperandsAreZero | kFlushToZero);
#elif defined(__aarch64__)
  constexpr uint64_t kFlushToZero = uint64_t{1} << 24;
  uint64_t control = 0;
  asm volatile("mrs %0, fpcr" : "=r"(control));
  asm volatile("msr fpcr, %0" : : "r"(control | kFlushToZero));
#endif
}

}  // namespace mtfc
