#pragma once
// The memory of one device: a single allocation, planned by the compiler, in which every buffer has a fixed
// offset. It starts as zeros. It is either allocated here, in which case untouched pages of a large one cost nothing,
// or borrowed from memory that the ranks of a node share (runtime/comm/mpi/node_memory.h).

#include <cstddef>
#include <cstdint>
#include <functional>

namespace mtfc {

class Arena {
 public:
  /// Throws RunError if `bytes` exceed the free memory of the machine, std::bad_alloc if a small one can't be had.
  explicit Arena(int64_t bytes);
  /// Borrowed memory, all zero and aligned to pages; `release` is called by the destructor.
  Arena(std::byte* start, int64_t bytes, std::function<void()> release);
  ~Arena();
  Arena(Arena&& other) noexcept;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  int64_t bytes() const { return bytes_; }
  std::byte* at(int64_t offset) const { return start_ + offset; }

 private:
  std::byte* start_ = nullptr;  // aligned to pages
  int64_t bytes_ = 0;
  std::function<void()> release_;
};

/// Throws RunError, naming both figures, if `bytes` exceed the free memory of this machine.
void require_memory(int64_t bytes);

}  // namespace mtfc
