#pragma once
// The two dimensions of a variable over which adafactor keeps means in the place of a mean square for each element.
//
// By default they are its two largest ones, but never one along which it is a stack of separate matrices, such as
// experts: a mean over experts would mix unrelated matrices, and would be needed whole on every device. A dimension
// is such a stack if all products that read the variable have it in the other operand and in the result too. Example:
// wi[experts, model, hidden] in einsum(x[experts, places, model], wi) -> [experts, places, hidden] is factored into
// means of [experts, model] and of [experts, hidden], however many experts there are.

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/graph/graph.h"
#include "core/tensors/shape.h"

namespace mtfc {

/// In the order of the variable.
using FactoredDims = std::pair<Dim, Dim>;

/// The default for each of these variables of a model's graph. If dimensions are equal, the later ones count as
/// larger. A variable has none if fewer than two dimensions that qualify have the size `least`.
std::map<std::string, FactoredDims> default_factored_dims(const Graph& graph,
                                                          const std::vector<std::string>& variables,
                                                          double least);

}  // namespace mtfc
