#pragma once
// For tests that try wild inputs: a limit on memory, and the seed of a case that crashes or never ends.

#include <sys/resource.h>

#include <cstdint>

namespace mtfc {

/// While it lives, the process has little memory (but for sanitizers, which reserve much), and the seed under
/// watch is printed when the process crashes or spends too long on it.
class FuzzGuard {
 public:
  FuzzGuard();
  ~FuzzGuard();
  FuzzGuard(const FuzzGuard&) = delete;
  FuzzGuard& operator=(const FuzzGuard&) = delete;

  /// A new case begins.
  void watch(uint64_t seed) const;

 private:
  rlimit memory_before_ = {};
};

}  // namespace mtfc
