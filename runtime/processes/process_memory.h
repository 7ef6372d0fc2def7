#pragma once
// Tells how much memory this process occupies, as the operating system counts it.

#include <cstdint>

namespace mtfc {

/// Bytes in memory. A page that several processes share counts in equal shares for each of them (Linux's Pss).
/// 0 on a system that does not tell.
int64_t proportional_memory();

}  // namespace mtfc
