#pragma once
// Large copies with non-temporal stores, which bypass the cache.

#include <cstddef>
#include <cstdint>
#include <span>

namespace mtfc {

/// Copies of at least this size bypass the cache: about as much as a core's own cache holds.
inline constexpr int64_t kBulkBytes = int64_t{1} << 20;

/// Copies `bytes` from `from` to each of `to`, which must not overlap. From kBulkBytes on, the source is read
/// once and written with non-temporal stores, which saves reading the lines that are overwritten.
void copy_to_all(const std::byte* from, std::span<std::byte* const> to, int64_t bytes);

}  // namespace mtfc
