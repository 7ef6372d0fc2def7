#pragma once
// The memory that the steps of a program read and write on the busiest device, and how long ago each part was
// last touched, which decides if it is still in a cache.
//
//   write a (1 MB)   write b (8 MB)   read a: distance 9 MB
//
// The distance of an access is the number of bytes touched since the same part of the arena was touched last,
// with the program running over and over. A kernel that works alone on 1 MB has the distance 1 MB. If buffers
// share memory, a touch of any of them counts.

#include <cstdint>
#include <vector>

#include "core/program/program.h"

namespace mtfc {

struct MemoryAccess {
  int64_t bytes = 0;
  int64_t distance = 0;  // in bytes
  bool writes = false;   // memory that the step does not read; an in-place write counts as a second read
};

/// For each step of `entry`, the accesses of one run; none for steps that leave elements where they are. For
/// steps in a loop, those of the second round.
std::vector<std::vector<MemoryAccess>> memory_traffic(const EntryPoint& entry, const Mesh& mesh);

}  // namespace mtfc
