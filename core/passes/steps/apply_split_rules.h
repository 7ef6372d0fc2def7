#pragma once
#include "core/passes/steps/sharded_entry.h"

namespace mtfc {

/// Replaces operations that need a dimension whole, but whose dimension is split, by their split rule: argmax
/// over a split dimension becomes reductions of values and of indices, so that nothing is gathered. The new
/// graph has other tensors, so resolve_shardings must run again.
EntryGraph apply_split_rules(const ShardedEntry& sharded, const Mesh& mesh);

}  // namespace mtfc
