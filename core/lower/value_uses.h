#pragma once
// The steps that make and read each value of an entry point, for passes that move or drop values.

#include <vector>

#include "core/program/partitioned_entry.h"

namespace mtfc {

struct ValueUses {
  PerValue<StepIndex> maker;  // for collectives the start; StepIndex() for values that no step makes
  PerValue<std::vector<StepIndex>> readers;  // in the order of the steps; waits are not among them
  PerValue<bool> is_kept;                    // is an output, is assigned, or has an alias

  explicit ValueUses(const PartitionedEntry& made);
};

}  // namespace mtfc
