#pragma once
#include <vector>

#include "core/graph/entry_graph.h"
#include "core/tensors/sharding.h"

namespace mtfc {

/// Replaces operations that need a whole dimension which `shardings` (one per tensor) split, by their split
/// rule: argmax over a split dimension becomes reductions of values and of indices, so that nothing is
/// gathered.
EntryGraph apply_split_rules(const EntryGraph& entry, const std::vector<Sharding>& shardings,
                             const Mesh& mesh);

}  // namespace mtfc
