#pragma once
// What the steps of a program read and write on the busiest device, and how long ago each part was last
// touched: whether it is still in a cache.
//
//   write a (1 MB)   write b (8 MB)   read a: distance 9 MB
//
// The distance of an access is the number of bytes that were touched since the same part of the arena was, as
// long as the program runs over and over: a kernel that works alone on 1 MB has the distance 1 MB. Memory
// that buffers share counts as touched, whichever buffer it was.

#include <cstdint>
#include <vector>

#include "core/program/program.h"

namespace mtfc {

struct MemoryAccess {
  int64_t bytes = 0;
  int64_t distance = 0;  // in bytes
  bool writes = false;   // memory that the step does not read; what is written in place counts as read twice
};

/// For each step of `entry`, what one run of it touches; nothing for those that leave things where they are.
/// In a loop: what the second round touches.
std::vector<std::vector<MemoryAccess>> memory_traffic(const EntryPoint& entry, const Mesh& mesh);

}  // namespace mtfc
