#include "core/plan/relations.h"

#include <utility>

#include "core/tensors/relayout.h"

namespace mtfc {
namespace {

class Relations {
 public:
  Relations(const FlatGraph& graph, const IndexedBy<FlatNodeId, std::vector<Factor>>& factors)
      : graph_(graph), factors_(factors) {}

  std::vector<DimRelation> run() {
    for (const FlatNodeId n : graph_.nodes.ids()) {
      const FlatNode& node = graph_.nodes[n];
      if (node.node->kind == NodeKind::kLoop)
        add_loop(n, node);
      else if (node.operates() && node.node->op->family == Family::kRelabel)
        add_relabelling(n, node);
      else if (node.operates())
        for (const Factor& factor : factors_[n]) add_factor(n, node, factor);
    }
    return std::move(found_);
  }

 private:
  void add(FlatNodeId n, std::vector<TensorDim> dims, bool is_one = true) {
    if (dims.size() > 1) found_.push_back({n, std::move(dims), is_one});
  }

  void add_factor(FlatNodeId n, const FlatNode& node, const Factor& factor) {
    if (factor.kind == Factor::Kind::kNeedsReplication && node.node->op->split_rule == kNoSplitRule) return;
    std::vector<TensorDim> dims;
    const auto add_positions = [&](const std::vector<int>& positions, const std::vector<TensorId>& tensors) {
      for (size_t i = 0; i < positions.size(); ++i)
        if (positions[i] >= 0)
          dims.push_back({graph_.flat(node, tensors[i]), static_cast<size_t>(positions[i])});
    };
    add_positions(factor.operands, node.node->operands);
    add_positions(factor.results, node.node->results);
    for (const OperandWindow& window : factor.windows)
      dims.push_back(
          {graph_.flat(node, node.node->operands[static_cast<size_t>(window.operand)]), window.split.dim});
    add(n, std::move(dims));
  }

  // Dimensions of equal size at the same place are one. All others of a group are cut or merged.
  void add_relabelling(FlatNodeId n, const FlatNode& node) {
    const FlatTensorId in = graph_.flat(node, node.node->operands[0]);
    const FlatTensorId out = graph_.flat(node, node.node->results[0]);
    for (const ReshapeGroup& group : reshape_groups(graph_.type(in).dims, graph_.type(out).dims)) {
      std::vector<TensorDim> dims;
      for (size_t d = group.from_begin; d < group.from_end; ++d) dims.push_back({in, d});
      for (size_t d = group.to_begin; d < group.to_end; ++d) dims.push_back({out, d});
      add(n, std::move(dims), group.from_end - group.from_begin == 1 && group.to_end - group.to_begin == 1);
    }
  }

  void add_loop(FlatNodeId n, const FlatNode& node) {
    for (size_t i = 0; i < node.node->operands.size(); ++i) {
      const FlatTensorId operand = graph_.flat(node, node.node->operands[i]);
      for (const FlatTensorId leaf : graph_.leaves(node, i)) add_same(n, operand, leaf);
      if (i < node.node->loop->carried()) add_same(n, operand, graph_.flat(node, node.node->results[i]));
    }
    for (size_t i = 0; i < node.node->results.size(); ++i)
      add_same(n, graph_.flat(node, node.node->results[i]), graph_.given(node, i));
  }

  void add_same(FlatNodeId n, FlatTensorId a, FlatTensorId b) {
    for (size_t d = 0; d < graph_.type(a).dims.size(); ++d) add(n, {{a, d}, {b, d}});
  }

  const FlatGraph& graph_;
  const IndexedBy<FlatNodeId, std::vector<Factor>>& factors_;
  std::vector<DimRelation> found_;
};

}  // namespace

std::vector<DimRelation> dim_relations(const FlatGraph& graph,
                                       const IndexedBy<FlatNodeId, std::vector<Factor>>& factors) {
  return Relations(graph, factors).run();
}

}  // namespace mtfc
