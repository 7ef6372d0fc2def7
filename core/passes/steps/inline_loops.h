#pragma once
#include <string>
#include <vector>

#include "core/passes/steps/partition.h"

namespace mtfc {

/// The steps of one loop's parts. Their inputs, by leaf_name, are the loop's operands.
struct LoopSteps {
  PartitionedEntry condition;  // no steps and outputs where the loop is counted
  PartitionedEntry body;       // its outputs are the carried tensors of the next round, in order, and `sums`
  int64_t times = 0;
  size_t sums = 0;
};

/// Puts the steps of loops in the place of the kLoop steps that stand for them; `partner` of those is an
/// index of `loops`, their outputs are the carried values. From here on `partner` is what core/program/program.h
/// says.
///
///   s', = loop 0 (s, x)   ->   s' = identity(s); loop; h = less(s', 10); leave(h); n = add(s', x);
///                              s' = identity(n); repeat
///
/// A sum starts as zero, and what a round gives is added as soon as it is there.
PartitionedEntry inline_loops(PartitionedEntry partitioned, const std::vector<LoopSteps>& loops);

}  // namespace mtfc
