#pragma once
// The memory that an entry point uses at each step: the data of reports over the steps, the fullest step, and
// the buffers alive there. Everything follows from the lifetimes that the program's buffers carry.
//
//   buffer  a [0..2] 8 bytes, b [1..3] 4 bytes   ->   8, 12, 12, 4 bytes; the peak is at step 1: a, b

#include <cstdint>
#include <string>
#include <vector>

#include "core/program/program.h"

namespace mtfc {

/// Bytes of the buffers alive at each step, by kind. An entry point without steps has one element.
struct MemoryUse {
  std::vector<int64_t> inputs;
  std::vector<int64_t> activations;
  std::vector<int64_t> workspace;
  std::vector<int64_t> gradients;
  std::vector<int64_t> variable_copies;
  size_t peak = 0;  // the first of the fullest steps

  int64_t at(size_t step) const {
    return inputs[step] + activations[step] + workspace[step] + gradients[step] + variable_copies[step];
  }
};
MemoryUse memory_use(const EntryPoint& entry);

/// Something that takes memory of a device: a buffer, a variable or a cache.
struct AliveTensor {
  std::string name;  // the value that the buffer holds at that step; or `workspace of NAME`
  std::string kind;  // variable, optimizer state, cache, or a name of BufferKind
  int64_t bytes = 0;
  int first_step = 0;  // variables and caches: from the first step ...
  int last_step = 0;   // ... to the last
};
/// Everything that is alive at `step`, the largest first, equal ones in the order of the program.
std::vector<AliveTensor> alive_at(const Program& program, const EntryPoint& entry, size_t step);

}  // namespace mtfc
