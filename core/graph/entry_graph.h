#pragma once
// The graph of one entry point with what it must deliver, and the rewriting of such graphs by passes.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/graph.h"

namespace mtfc {

/// Takes effect at the end of a step.
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
  std::string name;  // init, train, evaluate, decode
  Graph graph;
  std::vector<NamedTensor> outputs;
  std::vector<Assignment> assignments;
  size_t sums = 0;  // the last outputs, which are added up over the rounds of a loop: they may stay partial
};

/// Asked for every node in order, with its operands in the new graph: the tensors that stand for its results,
/// or nothing to copy the node as it is.
using Rewrite = std::function<std::optional<std::vector<TensorId>>(GraphBuilder&, const Node&,
                                                                   const std::vector<TensorId>& operands)>;

/// Builds the graph anew. New nodes get the origin of the node they replace; a replacement takes over the
/// name of the tensor it stands for.
EntryGraph rewritten(const EntryGraph& entry, const Rewrite& rewrite);

}  // namespace mtfc
