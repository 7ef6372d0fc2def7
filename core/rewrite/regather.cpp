#include "core/rewrite/regather.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/graph/op_registry.h"
#include "core/graph/reachability.h"

namespace mtfc {
namespace {

using Leaves = std::set<std::string, std::less<>>;

bool is_among(const Graph& graph, TensorId id, const Leaves& leaves) {
  return is_leaf(graph.producer(id)) && leaves.contains(graph.tensor(id).name);
}

bool is_cast_of(const Graph& graph, TensorId id, const Leaves& leaves) {
  const Node& node = graph.producer(id);
  return node.kind == NodeKind::kOp && node.op->traits.converts && is_among(graph, node.operands[0], leaves);
}

// The copies of activations that a graph gives its backward pass.
class ActivationCopies {
 public:
  ActivationCopies(const Graph& graph, const Layout& layout)
      : graph_(graph), layout_(layout), is_constant_(made_of_constants(graph)) {}

  // The operand that a node of the backward pass takes in the place of `id`, which is `now` in the new graph.
  TensorId taken(GraphBuilder& builder, const Node& reader, TensorId id, TensorId now) {
    const AxisList used = axes_used_by(reader);
    if (is_gathered(id, used)) return copy_of(builder, id, now);
    // A gathered tensor under other names of its dimensions.
    const Node& node = graph_.producer(id);
    if (node.kind != NodeKind::kOp || node.op->family != Family::kRelabel) return now;
    const TensorId source = node.operands[0];
    if (!splits(id).empty() || !is_gathered(source, used)) return now;
    const TensorId source_now = builder.graph().find(graph_.tensor(source).name);
    if (source_now == kNoTensor || is_known(id)) return now;
    const TensorId copy = copy_of(builder, source, source_now);
    return add(builder, id, *node.op, copy, node.attributes);
  }

 private:
  // The axes over which only rules between parts split the tensor.
  AxisList splits(TensorId id) const {
    const Tensor& tensor = graph_.tensor(id);
    const Sharding firm = firm_sharding(tensor);
    Sharding split = firm;
    split_between(layout_, tensor.type.dims, {}, split);
    const AxisList before = split_axes(firm);
    AxisList axes = split_axes(split);
    std::erase_if(axes, [&](int axis) { return contains(before, axis); });
    return axes;
  }
  Sharding firm_sharding(const Tensor& tensor) const {
    return tensor.annotation ? tensor.annotation->sharding
                             : legal_sharding_by_rules(layout_, tensor.type.dims);
  }
  AxisList axes_used_by(const Node& node) const {
    AxisList axes;
    for (const TensorIds* ids : {&node.operands, &node.results})
      for (const TensorId id : *ids)
        for (const int axis : split_axes(firm_sharding(graph_.tensor(id)))) axes.push_back(axis);
    return axes;
  }
  // True for an activation of the forward pass that rules between parts split over an axis that is used otherwise.
  bool is_gathered(TensorId id, const AxisList& used) const {
    const Node& node = graph_.producer(id);
    if (node.kind != NodeKind::kOp || node.origin->phase != Phase::kForward || is_constant_[id] ||
        is_known(id))
      return false;
    const AxisList axes = splits(id);
    return std::any_of(axes.begin(), axes.end(), [&](int axis) { return contains(used, axis); });
  }
  // True if the graph computes the tensor again already.
  bool is_known(TensorId id) const {
    return graph_.find(graph_.tensor(id).name + std::string(kAgain)) != kNoTensor;
  }

  TensorId copy_of(GraphBuilder& builder, TensorId id, TensorId now) {
    return add(builder, id, op_named("identity"), now, {});
  }
  TensorId add(GraphBuilder& builder, TensorId id, const OpDef& op, TensorId operand,
               const Attributes& attributes) {
    const auto [at, is_new] = copies_.emplace(id, kNoTensor);
    if (is_new) {
      const Tensor& tensor = graph_.tensor(id);
      builder.set_origin({tensor.name, graph_.producer(id).origin->location, Phase::kBackward});
      at->second = builder.add(op, {operand}, attributes, {tensor.name + std::string(kAgain)})[0];
      builder.annotate(at->second, tensor.annotation);
    }
    return at->second;
  }

  const Graph& graph_;
  const Layout& layout_;
  PerTensor<bool> is_constant_;
  std::map<TensorId, TensorId> copies_;
};

}  // namespace

Leaves leaves_in_loop(const Graph& graph, const Node& loop, const Leaves& leaves) {
  Leaves found;
  // A tensor that the loop carries is another one in the next round.
  for (size_t i = loop.loop->carried(); i < loop.operands.size(); ++i) {
    const TensorId id = loop.operands[i];
    const bool is_named = leaves.contains(graph.tensor(id).name);
    if (is_named || is_cast_of(graph, id, leaves)) found.insert(leaf_name(i));
  }
  return found;
}

EntryGraph regather(EntryGraph entry, const Leaves& leaves) {
  if (leaves.empty()) return entry;
  std::map<TensorId, TensorId> copies;
  // The copy belongs to the variable, whose sharding it has.
  const auto copy_of = [&](GraphBuilder& builder, TensorId leaf, const Node& reader) {
    const auto [at, is_new] = copies.emplace(leaf, kNoTensor);
    if (is_new) {
      const std::string name = builder.graph().tensor(leaf).name;
      builder.set_origin({name, reader.origin->location, Phase::kBackward});
      at->second = builder.add(op_named("identity"), {leaf}, {}, {name + std::string(kAgain)})[0];
      builder.annotate(at->second, builder.graph().tensor(leaf).annotation);
    }
    return at->second;
  };
  const auto cast_again = [&](GraphBuilder& builder, TensorId cast, const Node& reader) {
    const auto [at, is_new] = copies.emplace(cast, kNoTensor);
    if (is_new) {
      const Node made = builder.graph().producer(cast);
      const TensorId copy = copy_of(builder, made.operands[0], reader);
      const std::string name = builder.graph().tensor(cast).name;
      builder.set_origin({name, reader.origin->location, Phase::kBackward});
      at->second = builder.add(*made.op, {copy}, made.attributes, {name + std::string(kAgain)})[0];
    }
    return at->second;
  };
  const EntryGraph& old = entry;
  const auto replace = [&](GraphBuilder& builder, const Node& node, const TensorIds& operands) -> Replaced {
    if (node.loop) {
      const Leaves inner = leaves_in_loop(old.graph, node, leaves);
      const auto change = [&](EntryGraph part, const GraphLoop&) { return regather(std::move(part), inner); };
      Node loop = node;
      loop.loop = std::make_shared<const GraphLoop>(with_changed_parts(*node.loop, "part", change));
      return builder.copy(old.graph, loop, operands);
    }
    // Gradients in the body of a loop may still have to be expanded; they are with respect to leaves.
    if (node.kind != NodeKind::kOp || node.origin->phase != Phase::kBackward) return std::nullopt;
    std::vector<TensorId> taken = operands;
    for (TensorId& id : taken)
      if (is_among(builder.graph(), id, leaves))
        id = copy_of(builder, id, node);
      else if (is_cast_of(builder.graph(), id, leaves))
        id = cast_again(builder, id, node);
    if (taken == operands) return std::nullopt;
    builder.set_origin(node.origin);
    return builder.copy(old.graph, node, std::move(taken));
  };
  return rewritten(old, replace);
}

EntryGraph regather_between(EntryGraph entry, const Layout& layout) {
  if (layout.between.empty()) return entry;
  const EntryGraph& old = entry;
  ActivationCopies copies(old.graph, layout);
  const auto replace = [&](GraphBuilder& builder, const Node& node, const TensorIds& operands) -> Replaced {
    if (node.loop) {
      const auto change = [&](EntryGraph part, const GraphLoop&) {
        return regather_between(std::move(part), layout);
      };
      Node loop = node;
      loop.loop = std::make_shared<const GraphLoop>(with_changed_parts(*node.loop, "part", change));
      return builder.copy(old.graph, loop, operands);
    }
    if (node.kind != NodeKind::kOp || node.origin->phase != Phase::kBackward) return std::nullopt;
    std::vector<TensorId> taken = operands;
    for (size_t i = 0; i < taken.size(); ++i)
      taken[i] = copies.taken(builder, node, node.operands[i], operands[i]);
    if (taken == operands) return std::nullopt;
    builder.set_origin(node.origin);
    return builder.copy(old.graph, node, std::move(taken));
  };
  return rewritten(old, replace);
}

}  // namespace mtfc
