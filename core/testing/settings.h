#pragma once
// Settings of tests, from the environment.

#include <cstdint>
#include <cstdlib>

namespace mtfc {

/// The number in the environment variable `name`; `fallback` if it is not set.
inline int64_t setting(const char* name, int64_t fallback) {
  const char* text = std::getenv(name);
  return text ? std::atoll(text) : fallback;
}

}  // namespace mtfc
