#include "core/rewrite/cheap_tensors.h"

#include <algorithm>

namespace mtfc {
namespace {

// A longer chain of operations is cut by a tensor that is kept.
constexpr int kLongestChain = 16;
constexpr int kNotThere = -1;

// How the backward pass reads a tensor.
struct BackwardReads {
  bool any = false;
  bool by_others = false;  // than operations that fused steps take in
};

bool is_in_fused_steps(const Node& node) {
  if (node.kind != NodeKind::kOp) return false;
  return node.op->family == Family::kElementwise || node.op->family == Family::kReduction ||
         (node.op->family == Family::kMovement && node.op->traits.copies == Copies::kSpread);
}

PerTensor<BackwardReads> backward_reads(const Graph& graph) {
  PerTensor<BackwardReads> reads(graph.tensors().size());
  for (const Node& node : graph.nodes()) {
    if (node.origin->phase == Phase::kForward) continue;
    for (const TensorId id : node.operands) {
      reads[id].any = true;
      reads[id].by_others = reads[id].by_others || !is_in_fused_steps(node);
    }
  }
  return reads;
}

}  // namespace

PerTensor<bool> cheap_tensors(const EntryGraph& entry, const PerTensor<bool>& of_regions) {
  const Graph& graph = entry.graph;
  const PerTensor<BackwardReads> reads = backward_reads(graph);
  PerTensor<bool> cheap(graph.tensors().size(), false), is_delivered = cheap;
  for (const NamedTensor& output : entry.outputs) is_delivered[output.tensor] = true;
  for (const Assignment& assignment : entry.assignments) is_delivered[assignment.value] = true;
  // The number of operations by which the backward pass can make each tensor from what it has.
  PerTensor<int> chain(graph.tensors().size(), kNotThere);
  for (const Node& node : graph.nodes()) {
    if (node.origin->phase != Phase::kForward) continue;
    const bool is_constant = node.kind == NodeKind::kOp && node.op->traits.is_constant;
    int made_by = is_constant ? 0 : kNotThere;
    if (node.kind == NodeKind::kOp && node.op->family == Family::kElementwise) {
      int longest = 0;
      for (const TensorId id : node.operands)
        longest = chain[id] == kNotThere ? kLongestChain : std::max(longest, chain[id]);
      if (longest < kLongestChain) made_by = longest + 1;
    }
    for (const TensorId id : node.results) {
      if (of_regions[id] || is_leaf(node)) continue;
      const bool is_kept = is_delivered[id] || reads[id].by_others || (reads[id].any && made_by <= 0);
      cheap[id] = made_by > 0 && !is_kept;
      chain[id] = is_kept ? 0 : made_by;
    }
  }
  return cheap;
}

}  // namespace mtfc
