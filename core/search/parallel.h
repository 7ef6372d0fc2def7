#pragma once
// Runs independent pieces of work by several threads.

#include <cstddef>
#include <functional>

namespace mtfc {

/// Calls `work` once for each number below `count`, by at most `threads` threads of which the caller is one. Rethrows
/// the failure of the lowest number after all calls have returned.
void each_in_parallel(size_t count, size_t threads, const std::function<void(size_t)>& work);

}  // namespace mtfc
