#pragma once
// Facts about a graph that hold for every legal layout of it, from which bounds follow: which nodes may be parts of
// fused steps, which values must go through memory, and where partial sums must become whole.
//
//   h = x.w; y = relu(h); z = y.v      relu may be fused, but not with the products: it reads h and writes y in memory

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/graph/entry_graph.h"
#include "core/model/state_split.h"

namespace mtfc {

/// Pairs of dimensions that no legal layout splits over the same axis.
using DimPairs = std::set<std::pair<std::string, std::string>>;

struct NodeFacts {
  bool computes = false;  // becomes a kernel, or a collective that does its work
  bool may_fuse = false;
  bool is_replaced =
      false;  // may be replaced by other operations (OpDef::split_rule); nothing is known of it
  /// Under every legal layout it needs no resharding: it reads its operands as they are sharded, none of them partial,
  /// and makes its results as they are sharded, partial over the axes of the factors that it reduces.
  bool is_plain = false;
  std::vector<Factor> factors = {};
};

struct TensorFacts {
  int fused_reads = 0;              // fused steps that must read it
  bool is_fused_write = false;      // a fused step must write it
  bool may_be_partial = false;      // under some layout
  bool is_needed_whole = false;     // something reads it that can't take it partial under any layout
  bool is_always_own = true;        // nothing asks for it in another sharding than its own
  bool is_dropped_partial = false;  // it may leave the graph without being reduced
  std::vector<int> readers = {};    // nodes, ascending
};

struct GraphFacts {
  std::vector<NodeFacts> nodes;
  PerTensor<TensorFacts> tensors;
};

GraphFacts graph_facts(const EntryGraph& entry, const DimPairs& pairs, const StateSplit& split);

/// The results that may be partial because node `n` takes some of its operands partial, for its operand `operand`: the
/// only result, or kNoTensor.
TensorId carried_by(const Graph& graph, const GraphFacts& facts, int n, TensorId operand);

}  // namespace mtfc
