#pragma once
// Bytes and flops are counted in int64_t. Models whose totals would not fit are refused before anything is
// added up.

#include <vector>

#include "core/graph/entry_graph.h"
#include "core/model/model.h"

namespace mtfc {

/// Throws UserError where the variables together, on one device, could exceed int64_t.
void require_countable(const std::vector<VariableDecl>& variables);
/// Throws UserError, at the operation that goes too far, where the bytes of an entry point's tensors (each of
/// which may exist in several shardings, or as a workspace) or its flops could exceed int64_t. Its tensors
/// are expanded.
void require_countable(const EntryGraph& entry);

}  // namespace mtfc
