#pragma once
// Checks that must hold after every pass over graphs: a graph is one that a GraphBuilder could have made, and
// it still delivers the same outputs and assignments.

#include <string>

#include "core/graph/entry_graph.h"

namespace mtfc {

/// "" for a valid graph, otherwise what is wrong. In a valid graph, operands exist and come before their
/// users, every name belongs to one tensor, operations accept their operands and infer the types of their
/// results, loops return the carried tensors with the same types, and every output and assignment refers to a
/// tensor.
std::string graph_problem(const EntryGraph& entry);

/// "" if the graph consists of operations, leaves and loops, otherwise names a composite or gradient that is left
/// in it. With `keeps_gradients`, gradients may be left, and composites that they need. Loops keep theirs until
/// they are lowered.
std::string expansion_problem(const Graph& graph, bool keeps_gradients);

/// "" if `after` delivers what `before` does: outputs and assignments with the same names and types, in the
/// same order, from no input or variable that `before` lacks. Otherwise what is wrong. With `changes_dtypes`, dtypes
/// and variables may be others.
std::string difference_of_interface(const EntryGraph& before, const EntryGraph& after,
                                    bool changes_dtypes = false);

}  // namespace mtfc
