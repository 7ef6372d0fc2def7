#pragma once
// Copies of bulk, past the cache.

#include <cstddef>
#include <cstdint>
#include <span>

namespace mtfc {

/// What is at least this large goes past the cache: as much as a core has for itself.
inline constexpr int64_t kBulkBytes = int64_t{1} << 20;

/// Copies `bytes` from `from` to each of `to`. What is larger than a core's own cache is read once, and
/// written past the cache, which saves reading what is overwritten. No overlaps.
void copy_to_all(const std::byte* from, std::span<std::byte* const> to, int64_t bytes);

}  // namespace mtfc
