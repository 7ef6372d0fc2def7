#pragma once
// Settings of tests, from the environment.

#include <chrono>
#include <cstdint>
#include <cstdlib>

namespace mtfc {

/// The number in the environment variable `name`; `fallback` if it is not set.
inline int64_t setting(const char* name, int64_t fallback) {
  const char* text = std::getenv(name);
  return text ? std::atoll(text) : fallback;
}

/// The seed of the first of some random cases: MTFC_SEED, or else one that changes every day, so that over time tests with
/// few cases try many. Tests say it, and repeat a failure with it: the cases of a day have the seeds that follow it.
inline int64_t first_seed() {
  using Days = std::chrono::duration<int64_t, std::ratio<86400>>;
  const int64_t today =
      std::chrono::duration_cast<Days>(std::chrono::system_clock::now().time_since_epoch()).count();
  return setting("MTFC_SEED", today * 100000);
}

}  // namespace mtfc
