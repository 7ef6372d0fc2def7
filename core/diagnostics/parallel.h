#pragma once
// Runs independent pieces of work by several threads.

#include <cstddef>
#include <functional>

namespace mtfc {

/// Calls `work` once for each number below `count`, by at most `threads` threads of which the caller is one. Rethrows
/// the failure of the lowest number after all calls have returned. The pieces of work are not shared again.
void each_in_parallel(size_t count, size_t threads, const std::function<void(size_t)>& work);

/// While it exists, work that this thread calls may share it among so many threads. Scopes of a thread may be nested;
/// the innermost counts.
class ThreadScope {
 public:
  explicit ThreadScope(size_t threads);
  ~ThreadScope();
  ThreadScope(const ThreadScope&) = delete;
  ThreadScope& operator=(const ThreadScope&) = delete;

 private:
  size_t outer_;
};

/// The same by as many threads as the scope of the caller says, one without a scope. They stop as the caller does
/// (core/diagnostics/stop.h) and tell their progress to whoever listens to it; both must bear calls by several threads.
void each_in_parallel(size_t count, const std::function<void(size_t)>& work);

}  // namespace mtfc
