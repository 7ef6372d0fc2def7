#pragma once
// An entry point on its way through the passes over steps, from `partition` to `assign_buffers`: its values
// have no buffers yet, and its loops stand beside it until `inline_loops` puts their steps in place.

#include <cstdint>
#include <utility>
#include <vector>

#include "core/program/program.h"

namespace mtfc {

struct LoopSteps;

struct PartitionedEntry {
  EntryPoint entry;
  std::vector<int> variable_of = {};  // per value: the variable (index in Program::variables) it reads, or -1
  std::vector<std::pair<ValueId, ValueId>> assignments = {};  // (variable's value, its new value)
  /// The loops that kLoop steps stand for: `partner` of such a step is an index here. Empty once they are
  /// inlined.
  std::vector<LoopSteps> loops = {};
  size_t sums = 0;  // the last outputs, which may be partial: a loop around this entry adds them up
};

/// The steps of one loop's condition and body. The inputs of both, by leaf_name, are the loop's operands.
struct LoopSteps {
  PartitionedEntry condition;  // has no steps and no outputs where the loop is counted
  PartitionedEntry body;       // its outputs are the carried tensors of the next round, in order, and `sums`
  int64_t times = 0;           // rounds; 0: as long as the condition holds
  size_t sums = 0;
};

}  // namespace mtfc
