#include "core/rewrite/regather.h"

#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/graph/op_registry.h"

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

}  // namespace mtfc
