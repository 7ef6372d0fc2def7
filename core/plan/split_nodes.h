#pragma once
// Operations that need a dimension whole, and whose split rule (OpDef::split_rule) makes them of operations that do
// not.

#include <cstdint>
#include <map>

#include "core/graph/entry_graph.h"
#include "core/plan/flat_graph.h"

namespace mtfc {

/// The graph with some nodes replaced by what their split rules make. `parts`: the number of shards of the dimension
/// that the node needs whole, by the node's position in flat_graph(entry.graph).
EntryGraph with_split_nodes(EntryGraph entry, const std::map<FlatNodeId, int64_t>& parts);

/// An entry point that computes one node from inputs of its operands' types, by its split rule.
EntryGraph split_node(const Graph& graph, const Node& node, int64_t parts);

}  // namespace mtfc
