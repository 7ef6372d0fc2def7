#pragma once
// Bytes and flops are counted in int64_t. Models whose totals would not fit are refused before anything is
// added up.

#include <vector>

#include "core/graph/entry_graph.h"
#include "core/model/model.h"

namespace mtfc {

/// Throws UserError if the variables together, on one device, could exceed int64_t bytes.
void require_countable(const std::vector<VariableDecl>& variables);
/// Throws UserError if the bytes or flops of an entry point could exceed int64_t, located at the operation
/// that goes too far. Each tensor may exist in several shardings or as a workspace. The entry point's
/// composites must be expanded.
void require_countable(const EntryGraph& entry);
/// True if the entry point is countable, and certainly remains so after passes that remove nodes or order contractions
/// (core/compile/graph). False means only that these passes must be run to find out. It must have no gradients,
/// composites or loops.
bool is_far_from_limits(const EntryGraph& entry);

}  // namespace mtfc
