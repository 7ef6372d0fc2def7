#pragma once
// For tests that try hostile inputs: limits memory, and prints the seed of a case that crashes or hangs.

#include <sys/resource.h>

#include <cstdint>
#include <ctime>
#include <string>

namespace mtfc {

/// During its lifetime the process has little memory (except under sanitizers, which reserve a lot), and the
/// current seed is printed if the process crashes or spends too long on it.
class FuzzGuard {
 public:
  FuzzGuard();
  ~FuzzGuard();
  FuzzGuard(const FuzzGuard&) = delete;
  FuzzGuard& operator=(const FuzzGuard&) = delete;

  /// Begins a new case.
  void watch(uint64_t seed);
  /// Returns a message if the case has taken far longer than the largest model takes, and otherwise "". Measures
  /// processor time, so a busy machine does not matter.
  std::string too_slow() const;

 private:
  std::clock_t begin_ = 0;
  rlimit memory_before_ = {};
};

}  // namespace mtfc
