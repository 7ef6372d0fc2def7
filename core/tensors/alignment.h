#pragma once
// The alignment of buffers in memory.

#include <cstdint>

namespace mtfc {

/// Bytes; a cache line, so that no two devices or threads that write to different buffers share one.
inline constexpr int64_t kAlignment = 64;

/// `bytes` rounded up to a multiple of `alignment`.
constexpr int64_t aligned(int64_t bytes, int64_t alignment = kAlignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

}  // namespace mtfc
