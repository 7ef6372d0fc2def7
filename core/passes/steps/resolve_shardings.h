#pragma once
#include "core/model/annotations.h"
#include "core/model/model.h"
#include "core/model/state_split.h"
#include "core/passes/steps/sharded_entry.h"
#include "core/tensors/layout.h"

namespace mtfc {

/// Throws UserError if a layout is not legal for a model. One error lists all rules for unknown dimensions; if there
/// are none, it lists all tensors with two dimensions over one axis and, unless `allow_uneven`, all rules whose axes
/// do not divide their dimension. A layout that propagates can split inputs and variables twice, and nothing else;
/// annotated tensors are no matter of the rules.
void check_layout(const Model& model, const Layout& layout, const Annotations& annotations, bool allow_uneven,
                  bool decodes = false);

/// Finds the sharding of every tensor of the graph: the rules restricted to its dimensions, with nothing
/// partial (Mesh-TensorFlow's semantics). Axes of size 1 split nothing and are left out. If a tensor made by
/// the compiler would use an axis twice, only its first dimension keeps it. Optimizer state and updates are
/// split further if the model asks for it. Example: with batch:rows, x[batch, io] is x[batch/rows, io] and
/// w[io, hidden] is whole.
ShardedEntry resolve_shardings(EntryGraph entry, const Layout& layout, const StateSplit& split);

/// The sharding of one tensor of `graph`.
Sharding resolved_sharding(const Graph& graph, const Tensor& tensor, const Layout& layout,
                           const StateSplit& split);

}  // namespace mtfc
