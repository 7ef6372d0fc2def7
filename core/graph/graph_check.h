#pragma once
// Whether a graph is one that a GraphBuilder could have made: what must hold after every pass over graphs.

#include <string>

#include "core/graph/entry_graph.h"

namespace mtfc {

/// "" where it is, otherwise what is wrong: operands come before their users and exist, names belong to one
/// tensor each, operations are used as they allow and give the types that they infer, loops hand on what they
/// carry, and every output and assignment names a tensor.
std::string graph_problem(const EntryGraph& entry);

/// "" where `after` gives what `before` gave: outputs and assignments of the same names and types, in order,
/// and no input or variable that `before` did not have. Otherwise what is wrong.
std::string difference_of_interface(const EntryGraph& before, const EntryGraph& after);

}  // namespace mtfc
