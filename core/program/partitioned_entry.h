#pragma once
// An entry point on its way through the passes over steps, from `partition` to `assign_buffers`: its values
// have no buffers yet, and its loops stand beside it until `inline_loops` puts their steps in place.

#include <cstdint>
#include <utility>
#include <vector>

#include "core/program/program.h"

namespace mtfc {

struct LoopSteps;
using Loops = IndexedBy<LoopIndex, LoopSteps>;

struct PartitionedEntry {
  EntryPoint entry;
  PerValue<int> variable_of = {};  // the variable (index in Program::variables) that the value reads, or -1
  std::vector<std::pair<ValueId, ValueId>> assignments = {};  // (variable's value, its new value)
  Loops loops = {};  // those of the RunLoop steps; empty once they are inlined
  size_t sums = 0;   // the last outputs, which may be partial: a loop around this entry adds them up
};

/// The steps of one loop's condition and body. The inputs of both, by leaf_name, are the loop's operands.
struct LoopSteps {
  PartitionedEntry condition;  // has no steps and no outputs where the loop is counted
  PartitionedEntry body;       // its outputs are the carried tensors of the next round, in order, and `sums`
  int64_t times = 0;           // rounds; 0: as long as the condition holds
  size_t sums = 0;
};

}  // namespace mtfc
