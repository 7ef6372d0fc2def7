#include "core/rewrite/recompute.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "core/graph/reachability.h"
#include "core/rewrite/cheap_tensors.h"
#include "core/rewrite/regather.h"

namespace mtfc {
namespace {

using Names = std::set<std::string, std::less<>>;

bool is_forward(const Node& node) {
  return node.kind == NodeKind::kOp && node.origin->phase == Phase::kForward;
}

// The tensors of regions that nothing but their region and the backward pass reads.
PerTensor<bool> inside_of_regions(const Graph& graph) {
  PerTensor<bool> inside(graph.tensors().size(), false);
  for (const Node& node : graph.nodes())
    if (is_forward(node) && node.origin->region != 0)
      for (const TensorId id : node.results) inside[id] = true;
  for (const Node& node : graph.nodes()) {
    if (node.origin->phase == Phase::kBackward && !node.loop) continue;
    for (const TensorId id : node.operands)
      if (graph.producer(id).origin->region != node.origin->region) inside[id] = false;
  }
  return inside;
}

// The forward node that a node of the backward pass computes again, or nullptr.
const Node* repeated_by(const Graph& graph, const Node& node) {
  if (node.kind != NodeKind::kOp || node.origin->phase != Phase::kBackward) return nullptr;
  const std::string_view name = graph.tensor(node.results[0]).name;
  if (!name.ends_with(kAgain)) return nullptr;
  const TensorId id = graph.find(name.substr(0, name.size() - kAgain.size()));
  if (id == kNoTensor) return nullptr;
  const Node& forward = graph.producer(id);
  const bool is_same = is_forward(forward) && forward.op == node.op &&
                       forward.origin->location.pointer == node.origin->location.pointer;
  return is_same ? &forward : nullptr;
}

// The tensors inside of regions, those that are named, and those that the backward pass computes again already.
PerTensor<bool> find_remade(const EntryGraph& entry, const Names& named) {
  const Graph& graph = entry.graph;
  PerTensor<bool> remade = inside_of_regions(graph);
  for (const Node& node : graph.nodes())
    if (const Node* forward = repeated_by(graph, node))
      for (const TensorId id : forward->results) remade[id] = true;
  for (const std::string& name : named) {
    const TensorId id = graph.find(name);
    if (id != kNoTensor && is_forward(graph.producer(id))) remade[id] = true;
  }
  for (const NamedTensor& output : entry.outputs) remade[output.tensor] = false;
  for (const Assignment& assignment : entry.assignments) remade[assignment.value] = false;
  return remade;
}

class Recomputation {
 public:
  Recomputation(const EntryGraph& entry, PerTensor<bool> remade)
      : old_(entry),
        remade_(std::move(remade)),
        now_(remade_.size(), kNoTensor),
        copies_(remade_.size(), kNoTensor) {}

  bool is_idle() const {
    return std::none_of(remade_.begin(), remade_.end(), [](bool is) { return is; });
  }

  EntryGraph run() {
    const auto replace = [this](GraphBuilder& builder, const Node& node,
                                const TensorIds& operands) -> Replaced {
      for (size_t i = 0; i < operands.size(); ++i) now_[node.operands[i]] = operands[i];
      if (node.kind != NodeKind::kOp || node.origin->phase != Phase::kBackward) return std::nullopt;
      // A copy that is there already is made sooner if something before it reads it now.
      const Node* forward = repeated_by(old_.graph, node);
      if (forward && remade_[forward->results[0]]) return copies_of(builder, *forward);
      std::vector<TensorId> taken = operands;
      for (size_t i = 0; i < taken.size(); ++i)
        if (remade_[node.operands[i]]) taken[i] = copy_of(builder, node.operands[i]);
      if (taken == operands) return std::nullopt;
      builder.set_origin(node.origin);
      return builder.copy(old_.graph, node, std::move(taken));
    };
    return rewritten(old_, replace);
  }

 private:
  TensorIds copies_of(GraphBuilder& builder, const Node& node) {
    copy_of(builder, node.results[0]);
    TensorIds copies;
    for (const TensorId id : node.results) copies.push_back(copies_[id]);
    return copies;
  }

  // The copy of a tensor of the old graph. Adds it, and those that it is made from, unless they are there.
  TensorId copy_of(GraphBuilder& builder, TensorId id) {
    if (copies_[id] != kNoTensor) return copies_[id];
    const auto lacks_copy = [&](const Node&, TensorId operand) {
      return remade_[operand] && copies_[operand] == kNoTensor;
    };
    for (const int n : nodes_behind(old_.graph, id, lacks_copy)) add_copy(builder, old_.graph.node(n));
    return copies_[id];
  }

  void add_copy(GraphBuilder& builder, const Node& node) {
    std::vector<TensorId> operands;
    for (const TensorId id : node.operands) operands.push_back(remade_[id] ? copies_[id] : now_[id]);
    const std::string& name = old_.graph.tensor(node.results[0]).name;
    Attributes attributes = node.attributes;
    if (node.op->traits.is_drawn && !attributes.has("key")) attributes.set("key", name);
    std::vector<std::string> names;
    for (const TensorId id : node.results) names.push_back(old_.graph.tensor(id).name + std::string(kAgain));
    builder.set_origin({node.origin->name, node.origin->location, Phase::kBackward});
    const std::vector<TensorId> made =
        builder.add(*node.op, std::move(operands), std::move(attributes), names);
    for (size_t i = 0; i < made.size(); ++i) {
      copies_[node.results[i]] = made[i];
      builder.annotate(made[i], old_.graph.tensor(node.results[i]).annotation);
      builder.offer(made[i], old_.graph.tensor(node.results[i]).offered);
    }
  }

  const EntryGraph& old_;
  PerTensor<bool> remade_;
  PerTensor<TensorId> now_;     // by old tensor that a node has read: the tensor of the new graph
  PerTensor<TensorId> copies_;  // by old tensor
};

EntryGraph remade(EntryGraph entry, PerTensor<bool> tensors) {
  Recomputation recomputation(entry, std::move(tensors));
  return recomputation.is_idle() ? entry : recomputation.run();
}

}  // namespace

EntryGraph recompute_cheap(EntryGraph entry) {
  PerTensor<bool> cheap = cheap_tensors(entry, inside_of_regions(entry.graph));
  return remade(std::move(entry), std::move(cheap));
}

EntryGraph recompute(EntryGraph entry, const Names& named) {
  PerTensor<bool> tensors = find_remade(entry, named);
  return remade(std::move(entry), std::move(tensors));
}

}  // namespace mtfc
