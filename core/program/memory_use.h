#pragma once
// Which buffers of an entry point are alive at which step: the memory of a report over the steps, the fullest
// step, and what is alive there. Everything follows from the lifetimes that the program's buffers carry.
//
//   buffer  a [0..2] 8 bytes, b [1..3] 4 bytes   ->   8, 12, 12, 4 bytes; the peak is at step 1: a, b

#include <cstdint>
#include <string>
#include <vector>

#include "core/program/program.h"

namespace mtfc {

/// Bytes of buffers alive at each step, by kind. One element more than 0, also without steps.
struct MemoryUse {
  std::vector<int64_t> inputs;
  std::vector<int64_t> activations;
  std::vector<int64_t> workspace;
  size_t peak = 0;  // the first of the fullest steps

  int64_t at(size_t step) const { return inputs[step] + activations[step] + workspace[step]; }
};
MemoryUse memory_use(const EntryPoint& entry);

/// Something that takes memory of a device: a buffer, a variable or a cache.
struct AliveTensor {
  std::string name;  // of the value that is made in it first; `workspace of NAME` where it serves a step
  std::string kind;  // variable, optimizer state, cache, input, activation, workspace
  int64_t bytes = 0;
  int first_step = 0;  // variables and caches: from the first step ...
  int last_step = 0;   // ... to the last
};
/// All that is alive at `step`, the largest first, then in the order of the program.
std::vector<AliveTensor> alive_at(const Program& program, const EntryPoint& entry, size_t step);

}  // namespace mtfc
