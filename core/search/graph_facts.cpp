#include "core/search/graph_facts.h"

#include <algorithm>
#include <optional>

#include "core/program/fused_grid.h"

namespace mtfc {
namespace {

// True for every node whose kernel may be a member of a fused step (core/program/fused_grid.h), constants included.
bool may_fuse(const Graph& graph, const Node& node, const std::vector<Factor>& factors) {
  const Family family = node.op->family;
  if (node.results.size() != 1) return false;
  if (family == Family::kElementwise) return true;
  if (family == Family::kGenerator) return node.op->traits.is_constant;
  const bool moves = family == Family::kMovement;
  if ((!moves && family != Family::kReduction) || node.operands.size() != 1) return false;
  if (moves && !in_order(graph.type(node.operands[0]).dims, graph.type(node.results[0]).dims)) return false;
  return std::all_of(factors.begin(), factors.end(), [&](const Factor& factor) {
    return factor.kind == Factor::Kind::kPass || (!moves && factor.kind == Factor::Kind::kReduce);
  });
}

// The name of the factor's dimension, if it is the same in all tensors.
std::optional<std::string> only_name(const Graph& graph, const Node& node, const Factor& factor) {
  std::optional<std::string> name;
  const auto agrees = [&](TensorId id, int position) {
    if (position < 0) return true;
    const std::string& here = graph.type(id).dims[static_cast<size_t>(position)].name;
    if (!name) name = here;
    return *name == here;
  };
  for (size_t i = 0; i < factor.operands.size(); ++i)
    if (!agrees(node.operands[i], factor.operands[i])) return std::nullopt;
  for (size_t i = 0; i < factor.results.size(); ++i)
    if (!agrees(node.results[i], factor.results[i])) return std::nullopt;
  return name;
}

bool is_plain(const Graph& graph, const Node& node, const std::vector<Factor>& factors, const DimPairs& pairs,
              const StateSplit& split) {
  for (const std::vector<TensorId>* ids : {&node.operands, &node.results})
    for (const TensorId id : *ids)
      if (is_split_state(split, graph, graph.tensor(id))) return false;
  std::vector<std::string> names;
  for (const Factor& factor : factors) {
    if (factor.kind != Factor::Kind::kPass && factor.kind != Factor::Kind::kReduce) return false;
    if (!factor.windows.empty()) return false;
    const std::optional<std::string> name = only_name(graph, node, factor);
    if (!name) return false;
    names.push_back(*name);
  }
  for (size_t i = 0; i < names.size(); ++i)
    for (size_t j = i + 1; j < names.size(); ++j)
      if (names[i] == names[j] || pairs.count({names[i], names[j]}) == 0) return false;
  return true;
}

NodeFacts facts_of(const Graph& graph, const Node& node, const DimPairs& pairs, const StateSplit& split) {
  NodeFacts facts;
  facts.computes = node.kind == NodeKind::kOp && node.op->family != Family::kRelabel;
  if (!facts.computes) {
    // Without its alias, the value may be one of a fused step.
    facts.is_replaced = facts.may_fuse =
        node.kind == NodeKind::kOp && graph.type(node.operands[0]) == graph.type(node.results[0]);
    return facts;
  }
  const std::vector<TensorType> operands = graph.operand_types(node), results = graph.result_types(node);
  facts.factors = node.op->roles({node.attributes, operands}, results);
  facts.is_replaced = node.op->split_rule != kNoSplitRule;
  facts.may_fuse = facts.is_replaced || may_fuse(graph, node, facts.factors);
  facts.is_plain = !facts.is_replaced && is_plain(graph, node, facts.factors, pairs, split);
  return facts;
}

// The node stands between fused steps: whatever reads its results, even indirectly, runs in another step than whatever
// it reads.
bool separates(const Node& node, const NodeFacts& facts) {
  return node.kind == NodeKind::kLoop || (node.kind == NodeKind::kOp && !facts.may_fuse);
}

// For each node whether a path from `tensor` leads to it, and whether one leads through a node that separates.
struct Reach {
  std::vector<bool> any, separated;
};
Reach reach_of(const Graph& graph, const GraphFacts& facts, int from, int last) {
  Reach reach{std::vector<bool>(graph.nodes().size()), std::vector<bool>(graph.nodes().size())};
  reach.any[static_cast<size_t>(from)] = true;
  for (int n = from + 1; n <= last; ++n) {
    const auto at = static_cast<size_t>(n);
    for (const TensorId id : graph.node(n).operands) {
      const auto maker = static_cast<size_t>(graph.tensor(id).node);
      if (!reach.any[maker]) continue;
      reach.any[at] = true;
      const bool passes =
          graph.tensor(id).node != from && separates(graph.node(static_cast<int>(maker)), facts.nodes[maker]);
      if (reach.separated[maker] || passes) reach.separated[at] = true;
    }
  }
  return reach;
}

// How many of the readers, ascending, can't be in one step: a chain in which each is separated from the one before.
int separate_steps(const Graph& graph, const GraphFacts& facts, const std::vector<int>& readers) {
  int steps = 0;
  for (size_t i = 0; i < readers.size();) {
    ++steps;
    if (i + 1 == readers.size()) break;
    const Reach reach = reach_of(graph, facts, readers[i], readers.back());
    size_t next = i + 1;
    while (next < readers.size() && !reach.separated[static_cast<size_t>(readers[next])]) ++next;
    i = next;
  }
  return steps;
}

void add_traffic(const EntryGraph& entry, const PerTensor<bool>& leaves, GraphFacts& facts) {
  const Graph& graph = entry.graph;
  for (const TensorId id : facts.tensors.ids()) {
    TensorFacts& tensor = facts.tensors[id];
    const Node& maker = graph.producer(id);
    const auto made = static_cast<size_t>(graph.tensor(id).node);
    const NodeFacts& making = facts.nodes[made];
    if (maker.kind == NodeKind::kOp && maker.op->traits.is_constant) continue;
    std::vector<int> fused;  // readers
    bool others = leaves[id];
    for (const int n : tensor.readers) {
      const NodeFacts& reading = facts.nodes[static_cast<size_t>(n)];
      if (reading.may_fuse && !reading.is_replaced && reading.is_plain) fused.push_back(n);
      if (separates(graph.node(n), reading)) others = true;
    }
    if (making.is_replaced) continue;
    if (!making.may_fuse) {
      tensor.fused_reads = separate_steps(graph, facts, fused);
      continue;
    }
    const int last = tensor.readers.empty() ? static_cast<int>(made) : tensor.readers.back();
    const Reach reach = reach_of(graph, facts, static_cast<int>(made), last);
    std::erase_if(fused, [&](int n) { return !reach.separated[static_cast<size_t>(n)]; });
    tensor.fused_reads = separate_steps(graph, facts, fused);
    tensor.is_fused_write = making.is_plain && (others || tensor.fused_reads > 0);
  }
}

// In the order of the nodes, since a result may be partial if operands may be.
void find_partial(const Graph& graph, GraphFacts& facts) {
  for (size_t n = 0; n < graph.nodes().size(); ++n) {
    const Node& node = graph.nodes()[n];
    bool may = node.kind == NodeKind::kLoop || facts.nodes[n].is_replaced;
    for (const Factor& factor : facts.nodes[n].factors) may |= factor.kind == Factor::Kind::kReduce;
    for (const TensorId id : node.operands)
      may |= carried_by(graph, facts, static_cast<int>(n), id) != kNoTensor;
    for (const TensorId id : node.results) facts.tensors[id].may_be_partial = may;
  }
}

void add_uses(const EntryGraph& entry, const StateSplit& split, GraphFacts& facts) {
  const Graph& graph = entry.graph;
  for (size_t n = 0; n < graph.nodes().size(); ++n) {
    const Node& node = graph.nodes()[n];
    for (size_t i = 0; i < node.operands.size(); ++i) {
      TensorFacts& tensor = facts.tensors[node.operands[i]];
      if (tensor.readers.empty() || tensor.readers.back() != static_cast<int>(n))
        tensor.readers.push_back(static_cast<int>(n));
      const bool may_be_taken = carried_by(graph, facts, static_cast<int>(n), node.operands[i]) != kNoTensor;
      tensor.is_needed_whole |= !facts.nodes[n].is_replaced && !may_be_taken;
      if (node.kind != NodeKind::kLoop && !facts.nodes[n].is_plain) tensor.is_always_own = false;
    }
  }
  for (size_t i = 0; i < entry.outputs.size(); ++i) {
    TensorFacts& tensor = facts.tensors[entry.outputs[i].tensor];
    (i + entry.sums < entry.outputs.size() ? tensor.is_needed_whole : tensor.is_dropped_partial) = true;
  }
  for (const Assignment& assignment : entry.assignments) {
    TensorFacts& tensor = facts.tensors[assignment.value];
    tensor.is_needed_whole = true;
    if (!split.axes.empty()) tensor.is_always_own = false;
  }
}

}  // namespace

TensorId carried_by(const Graph& graph, const GraphFacts& facts, int n, TensorId operand) {
  const Node& node = graph.node(n);
  if (node.kind != NodeKind::kOp) return kNoTensor;
  for (const std::vector<int>& set : linear_sets(graph, node)) {
    bool has_operand = false, is_possible = true;
    for (const int i : set) {
      if (i >= static_cast<int>(node.operands.size())) {
        is_possible = false;
        continue;
      }
      const TensorId id = node.operands[static_cast<size_t>(i)];
      has_operand |= id == operand;
      is_possible = is_possible && (facts.tensors[id].may_be_partial || graph.constant_value(id) == 0.0);
    }
    if (has_operand && is_possible) return node.results[0];
  }
  return kNoTensor;
}

GraphFacts graph_facts(const EntryGraph& entry, const DimPairs& pairs, const StateSplit& split) {
  const Graph& graph = entry.graph;
  GraphFacts facts;
  for (const Node& node : graph.nodes()) facts.nodes.push_back(facts_of(graph, node, pairs, split));
  facts.tensors.resize(graph.tensors().size());
  find_partial(graph, facts);
  add_uses(entry, split, facts);
  PerTensor<bool> leaves(graph.tensors().size(), false);
  for (const NamedTensor& output : entry.outputs) leaves[output.tensor] = true;
  for (const Assignment& assignment : entry.assignments) leaves[assignment.value] = true;
  add_traffic(entry, leaves, facts);
  return facts;
}

}  // namespace mtfc
