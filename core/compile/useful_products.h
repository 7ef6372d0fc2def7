#pragma once
// The products of whole tensors that a graph needs, which no layout changes.

#include "core/graph/graph.h"
#include "core/program/program.h"

namespace mtfc {

/// The products of the operations of `graph`, apart from those in its loops.
UsefulProducts useful_products(const Graph& graph);

/// Adds those of `times` runs of a part to those of the whole.
void add(UsefulProducts& whole, const UsefulProducts& part, int64_t times);

}  // namespace mtfc
