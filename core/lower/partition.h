#pragma once
// Turns a graph on whole tensors into steps on local values.
//
//   x: batch/rows, k/cols    w: k/cols, h
//   h = einsum(x, w)                       ->   h@sum(cols) = einsum(x, w)
//   y = relu(h)                                 start h = all_reduce(h@sum(cols)) over cols; wait h
//                                               y = relu(h)

#include <vector>

#include "core/plan/sharded_entry.h"

namespace mtfc {

/// Every node becomes a kernel on operands in the shardings that its strategy asks for, with the moves that
/// bring them there, each made once and shared. A relabelling node computes nothing: it becomes an alias, or
/// an exchange where the new dimensions are split in another way. A loop becomes one
/// RunLoop step. Every output and every assigned tensor is whole in the end, in its own sharding,
/// except for the entry's `sums`, which are as they came out. `variables` holds those of the program and the
/// caches of the entry point.
PartitionedEntry partition(const ShardedEntry& sharded, const std::vector<ProgramVariable>& variables,
                           const Mesh& mesh);

}  // namespace mtfc
