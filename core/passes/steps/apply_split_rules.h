#pragma once
#include "core/passes/steps/sharded_entry.h"

namespace mtfc {

/// Replaces operations that need a whole dimension which the shardings split, by their split rule: argmax over
/// a split dimension becomes reductions of values and of indices, so that nothing is gathered. The new
/// graph has other tensors, for which resolve_shardings is asked again.
EntryGraph apply_split_rules(const ShardedEntry& sharded, const Mesh& mesh);

}  // namespace mtfc
