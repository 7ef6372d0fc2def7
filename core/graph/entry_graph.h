#pragma once
// The graph of one entry point together with what it delivers (outputs, assignments), and a function by which
// passes rewrite such graphs.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"

namespace mtfc {

/// The end of the name of a tensor that is made a second time, as late as it is needed, so that the first one need not
/// be kept.
inline constexpr std::string_view kAgain = "/again";

/// The new value of a variable. It takes effect at the end of a step.
struct Assignment {
  std::string variable;
  TensorId value = kNoTensor;
  Location location;
};

struct NamedTensor {
  std::string name;
  TensorId tensor = kNoTensor;
};

struct EntryGraph {
  std::string name;  // init, train, evaluate, decode, encode
  Graph graph;
  std::vector<NamedTensor> outputs;
  std::vector<Assignment> assignments;
  // The last `sums` outputs are added up over the rounds of a loop, so they may stay partial
  size_t sums = 0;
};

/// A part of a loop as an entry point of its own, with its results as outputs. The last `sums` of them are added up.
EntryGraph entry_of(const LoopPart& part, std::string name, size_t sums);

/// The loop with `change` made to its condition and its body, each an entry point of the name `entry`; and the graph
/// with the same made to all of its loops.
using PartChange = std::function<EntryGraph(EntryGraph part, const GraphLoop& loop)>;
GraphLoop with_changed_parts(const GraphLoop& loop, const std::string& entry, const PartChange& change);
Graph with_changed_parts(Graph graph, const std::string& entry, const PartChange& change);

using TensorIds = std::vector<TensorId>;
/// The tensors that replace the results of a node, or nothing to have the node stay as it is.
using Replaced = std::optional<TensorIds>;
/// Called for every node in order, with its operands in the new graph.
using Rewrite = std::function<Replaced(GraphBuilder&, const Node&, const TensorIds& operands)>;

/// Builds the graph anew. New nodes get the origin of the node that they replace, and a replacement takes
/// over the name of the tensor that it replaces. Example: a Rewrite that returns {operands[0]} for mul(x, 1)
/// makes the users of y = mul(x, 1) read x.
EntryGraph rewritten(const EntryGraph& entry, const Rewrite& rewrite);
/// The same for an entry that is not needed any more, in less time and memory: its nodes are moved into the new
/// graph, or destroyed, one by one. A Rewrite may still ask it for the names and types of the results of the node
/// that it is called for, and for nothing else.
EntryGraph rewritten(EntryGraph&& entry, const Rewrite& rewrite);

}  // namespace mtfc
