#pragma once
// The memory of one device: one allocation, planned by the compiler, in which every buffer has a fixed
// offset. Zero at first. Of its own, where pages that are never touched cost nothing, or a part of memory
// that the ranks of a node share (runtime/comm/mpi/node_memory.h).

#include <cstddef>
#include <cstdint>
#include <functional>

namespace mtfc {

class Arena {
 public:
  /// Throws RunError where `bytes` are more than the machine has free.
  explicit Arena(int64_t bytes);
  /// Memory of somebody else's, all zero and aligned to pages, who is told when it is free again.
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

/// Throws RunError, naming both figures, where `bytes` exceed the memory that is free on this machine.
void require_memory(int64_t bytes);

}  // namespace mtfc
