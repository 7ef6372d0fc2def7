#pragma once
#include <optional>

#include "core/passes/steps/sharded_entry.h"

namespace mtfc {

/// Replaces operations that need a dimension whole, but whose dimension is split, by their split rule: argmax
/// over a split dimension becomes reductions of values and of indices, so that nothing is gathered. The new
/// graph takes the place of `sharded`, and has other tensors, so resolve_shardings must run again. Returns nullopt,
/// and leaves `sharded` as it is, if there are no such operations.
std::optional<EntryGraph> apply_split_rules(ShardedEntry& sharded, const Mesh& mesh);

}  // namespace mtfc
