#pragma once
#include "core/model/model.h"
#include "core/model/state_split.h"
#include "core/passes/steps/sharded_entry.h"
#include "core/tensors/layout.h"

namespace mtfc {

/// Throws UserError, all mistakes together, where a layout is not legal for a model: a rule for an unknown
/// dimension, or a tensor with two dimensions over one axis. `allow_uneven` false: also where a rule's axes
/// do not divide its dimension.
void check_layout(const Model& model, const Layout& layout, bool allow_uneven, bool decodes = false);

/// The sharding of every tensor of the graph: the rules restricted to its dimensions, nothing partial
/// (Mesh-TensorFlow's semantics). Axes of size 1 split nothing and are left out. A tensor that the compiler
/// made and that would use an axis twice keeps it on its first dimension only. Optimizer state and updates
/// are split further where the model asks for it.
ShardedEntry resolve_shardings(EntryGraph entry, const Layout& layout, const StateSplit& split);

}  // namespace mtfc
