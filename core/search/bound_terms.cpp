#include "core/search/bound_terms.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "core/cost/kernel_time.h"
#include "core/model/state_split.h"
#include "core/plan/node_options.h"
#include "core/program/collective_cost.h"
#include "core/program/reshard.h"

namespace mtfc {
namespace {

using Tensors = std::vector<TensorId>;

// A graph, what is known of it, and the hardware.
struct Scene {
  const BoundInput& input;
  const EntryGraph& entry;
  GraphFacts facts;

  const Graph& graph() const { return entry.graph; }
  const Node& node(int n) const { return graph().node(n); }
  Sharding own(TensorId id, const Layout& layout) const {
    return rule_sharding(graph(), graph().tensor(id), layout, input.split);
  }
  int64_t local_bytes(TensorId id, const Sharding& sharding, const Mesh& mesh) const {
    return largest_bytes(graph().type(id), sharding, mesh);
  }
};
using SharedScene = std::shared_ptr<const Scene>;

// The one way to run a node that is plain (NodeFacts::is_plain).
Strategy plain_strategy(const Scene& scene, const Node& node, const NodeFacts& facts, const Layout& layout) {
  Strategy plain;
  for (const TensorId id : node.operands) plain.operands.push_back(scene.own(id, layout));
  for (const TensorId id : node.results) plain.results.push_back(scene.own(id, layout));
  for (const Factor& factor : facts.factors) {
    if (factor.kind != Factor::Kind::kReduce) continue;
    for (size_t i = 0; i < factor.operands.size(); ++i) {
      if (factor.operands[i] < 0) continue;
      for (size_t r = 0; r < plain.results.size(); ++r)
        for (const int axis : plain.operands[i].dims[static_cast<size_t>(factor.operands[i])])
          if (factor.results[r] < 0 && !plain.results[r].is_partial(axis))
            plain.results[r].partial.push_back({axis, factor.reduce});
    }
  }
  for (Sharding& result : plain.results) std::sort(result.partial.begin(), result.partial.end());
  return plain;
}

// The ways to run a node from which a plan is chosen under the rules of the layout, but for sums that pass through it.
std::vector<Strategy> strategies_of(const Scene& scene, int n, const Layout& layout) {
  const Node& node = scene.node(n);
  const NodeFacts& facts = scene.facts.nodes[static_cast<size_t>(n)];
  if (facts.is_plain) return {plain_strategy(scene, node, facts, layout)};
  AxisLists lists;
  NodeCall call{scene.graph(), node, {}, {}, std::vector<uint64_t>(node.operands.size(), 0), true};
  for (const bool is_result : {false, true})
    for (const TensorId id : is_result ? node.results : node.operands) {
      std::vector<ListSet> dims;
      for (const AxisList& axes : scene.own(id, layout).dims) dims.push_back(lists.with_prefixes(axes));
      (is_result ? call.result_lists : call.operand_lists).push_back(std::move(dims));
    }
  const PlanPrices prices(layout.mesh, {});
  std::vector<Strategy> strategies;
  for (const NodeOption& option : options_of(call, facts.factors, lists, layout.mesh, prices, {}))
    strategies.push_back(strategy_of(option));
  return strategies;
}

// The least of each part of the cost over all strategies of a node.
template <typename Cost>
BoundCost least_cost(const Scene& scene, int n, const Layout& layout, Cost cost) {
  std::optional<BoundCost> least;
  for (const Strategy& strategy : strategies_of(scene, n, layout)) {
    const BoundCost next = cost(strategy);
    if (least)
      least->lower_to(next);
    else
      least = next;
  }
  return least.value_or(BoundCost{});
}

std::vector<LocalType> local_types(const Scene& scene, const Tensors& ids,
                                   const std::vector<Sharding>& shardings, const Mesh& mesh) {
  std::vector<LocalType> types;
  for (size_t i = 0; i < ids.size(); ++i) {
    const TensorType& type = scene.graph().type(ids[i]);
    types.push_back({type.dtype, largest_dims(type.dims, shardings[i], mesh)});
  }
  return types;
}

// -- kernels --

// True if the node becomes an exchange instead of a kernel.
bool is_exchanged(const NodeFacts& facts, const Strategy& strategy) {
  return std::any_of(facts.factors.begin(), facts.factors.end(), [&](const Factor& factor) {
    return factor.kind == Factor::Kind::kPermuted &&
           !strategy.operands[0].dims[static_cast<size_t>(factor.operands[0])].empty();
  });
}

// The least seconds that a kernel, which is no part of a fused step, takes for the memory that it touches.
double kernel_memory(const Scene& scene, const Node& node, const std::vector<LocalType>& operands,
                     const std::vector<LocalType>& results) {
  if (may_overwrite_operand(*node.op) && !is_elementwise(*node.op)) return 0;
  const bool picks = node.op->family == Family::kIndexing || node.op->family == Family::kMovement;
  double seconds = 0;
  int64_t written = 0;
  for (const LocalType& result : results) written += bytes(result);
  for (size_t i = 0; i < operands.size(); ++i) {
    if (std::find(node.operands.begin(), node.operands.begin() + static_cast<std::ptrdiff_t>(i),
                  node.operands[i]) != node.operands.begin() + static_cast<std::ptrdiff_t>(i))
      continue;
    const int64_t read = picks ? std::min(bytes(operands[i]), written) : bytes(operands[i]);
    seconds += scene.input.least.memory_seconds(static_cast<double>(read), false);
  }
  for (const LocalType& result : results)
    seconds += scene.input.least.memory_seconds(static_cast<double>(bytes(result)), true);
  return seconds;
}

BoundCost kernel_cost(const Scene& scene, int n, const Layout& layout, const Strategy& strategy) {
  const Node& node = scene.node(n);
  const NodeFacts& facts = scene.facts.nodes[static_cast<size_t>(n)];
  if (is_exchanged(facts, strategy)) return {};
  const std::vector<LocalType> operands = local_types(scene, node.operands, strategy.operands, layout.mesh),
                               results = local_types(scene, node.results, strategy.results, layout.mesh);
  KernelTime time = operation_time(*node.op, {node.attributes, operands}, results, scene.input.hardware);
  BoundCost cost;
  if (facts.may_fuse) {
    cost.fused_compute = time.compute_s;
    return cost;
  }
  const double memory = kernel_memory(scene, node, operands, results);
  if (memory <= 0 && time.peak_s <= 0) return {};
  time.memory_s += memory;
  // On a device for which a processor issues kernels, constants and what is made of them alone take no overhead.
  if (scene.input.hardware.issue_s <= 0 || is_product(*node.op))
    time.overhead_s = scene.input.hardware.step_overhead_s;
  cost.device = time.seconds();
  return cost;
}

BoundCost fused_traffic(const Scene& scene, TensorId id, const Layout& layout) {
  const TensorFacts& facts = scene.facts.tensors[id];
  const auto local = static_cast<double>(scene.local_bytes(id, scene.own(id, layout), layout.mesh));
  BoundCost cost;
  cost.fused_memory = facts.fused_reads * scene.input.least.memory_seconds(local, false) +
                      (facts.is_fused_write ? scene.input.least.memory_seconds(local, true) : 0);
  return cost;
}

// -- collectives --

BoundCost cost_of(const LeastTimes::Transfer& transfer) {
  BoundCost cost;
  cost.network = transfer.network;
  cost.device = transfer.device;
  return cost;
}

// The bytes that the last device sends in a move; nothing where that is not known without counting what overlaps.
std::optional<int64_t> bytes_sent(const TensorType& type, const Sharding& from, const Move& move,
                                  const Mesh& mesh) {
  if (facts_of(move.collective->kind).share == CostShare::kSent) return std::nullopt;
  return largest_gather_cost(*move.collective, {type.dims, from, move.to, mesh}, type.dtype).bytes_sent;
}

// The least of both ways to plan the moves.
BoundCost reshard_seconds(const Scene& scene, TensorId id, const Sharding& from, const Sharding& to,
                          const Mesh& mesh) {
  const TensorType& type = scene.graph().type(id);
  const auto seconds = [&](ReshardWay way) {
    BoundCost cost;
    Sharding now = from;
    for (const Move& move : plan_reshard(type.dims, from, to, mesh, way)) {
      if (move.collective)
        if (const std::optional<int64_t> sent = bytes_sent(type, now, move, mesh))
          cost.add(cost_of(scene.input.least.collective(move.collective->kind, move.collective->axes,
                                                        static_cast<double>(*sent))));
      now = move.to;
    }
    return cost;
  };
  BoundCost least = seconds(ReshardWay::kFewestBytes);
  least.lower_to(seconds(ReshardWay::kDirect));
  return least;
}

// A reduction of the tensor over an axis, in whatever way. Every other axis may split the tensor before the reduction,
// even if its devices hold the same elements before and after (core/program/reshard_search.h).
BoundCost reduction_seconds(const Scene& scene, int axis, TensorId id, const Mesh& mesh) {
  const int64_t members = mesh.size(axis);
  const int64_t bytes = mtfc::bytes(scene.graph().type(id)) / (mesh.devices() / members);
  return cost_of(
      scene.input.least.through_axis({CollectiveKind::kAllReduce, CollectiveKind::kReduceScatter}, axis,
                                     static_cast<double>(bytes - (bytes + members - 1) / members)));
}

double larger(const BoundCost& cost) {
  return cost.device + cost.network;
}

// True if the result of a node is reduced over the axes of what the node reduces alone, and by the moves to the
// tensor's own sharding.
bool is_reduced_alone(const Scene& scene, int n, TensorId result) {
  const Tensors& operands = scene.node(n).operands;
  return scene.facts.tensors[result].is_always_own &&
         std::all_of(operands.begin(), operands.end(),
                     [&](TensorId id) { return carried_by(scene.graph(), scene.facts, n, id) == kNoTensor; });
}

// Result `result` of a node, which is needed whole, so that it is reduced itself if it is partial.
BoundCost result_reduction(const Scene& scene, int n, size_t result, const Layout& layout,
                           const Strategy& strategy) {
  const TensorId id = scene.node(n).results[result];
  const Sharding& made = strategy.results[result];
  if (made.partial.empty()) return {};
  if (is_reduced_alone(scene, n, id))
    return reshard_seconds(scene, id, made, scene.own(id, layout), layout.mesh);
  BoundCost most;
  for (const Partial& partial : made.partial) {
    const BoundCost cost = reduction_seconds(scene, partial.axis, id, layout.mesh);
    if (larger(cost) > larger(most)) most = cost;
  }
  return most;
}

// A sum that linear operations may carry along: it is reduced at one of the tensors of `places`.
BoundCost carried_reduction(const Scene& scene, const Tensors& places, const Layout& layout,
                            const Strategy& strategy) {
  BoundCost most;
  for (const Partial& partial : strategy.results[0].partial) {
    std::optional<BoundCost> least;
    for (const TensorId id : places) {
      const BoundCost cost = reduction_seconds(scene, partial.axis, id, layout.mesh);
      if (!least || larger(cost) < larger(*least)) least = cost;
    }
    if (least && larger(*least) > larger(most)) most = *least;
  }
  return most;
}

// -- terms --

std::string key_of(const Scene& scene, const Node& node, size_t part) {
  std::string text = std::to_string(part);
  const Graph& graph = scene.graph();
  text += "|" + (node.op ? std::string(node.op->signature.name) : "") + "|";
  for (const auto& [name, attribute] : node.attributes.entries())
    text += name + "=" + to_string(attribute) + ",";
  for (const Tensors* ids : {&node.operands, &node.results})
    for (const TensorId id : *ids)
      text += "|" + to_string(graph.type(id)) +
              (is_split_state(scene.input.split, graph, graph.tensor(id)) ? "split" : "");
  // Operands that are the same tensor are read once.
  for (const TensorId id : node.operands)
    text += "," +
            std::to_string(std::find(node.operands.begin(), node.operands.end(), id) - node.operands.begin());
  return text;
}

class TermCollector {
 public:
  void add(const std::string& key, double times, const std::set<std::string>& dims,
           std::function<BoundCost(const Layout&)> cost) {
    const auto [known, is_new] = positions_.emplace(key, terms_.size());
    if (is_new)
      terms_.push_back({dims, times, std::move(cost)});
    else
      terms_[known->second].times += times;
  }
  std::vector<BoundTerm> take() { return std::move(terms_); }

 private:
  std::map<std::string, size_t> positions_;
  std::vector<BoundTerm> terms_;
};

void add_dims(const Scene& scene, const Tensors& ids, std::set<std::string>& dims) {
  for (const TensorId id : ids)
    for (const Dim& dim : scene.graph().type(id).dims) dims.insert(dim.name);
}

// The tensors at one of which a sum that arises as `from` must be reduced; none if it may leave the graph partial, or
// passes something of which nothing is known.
Tensors places_of(const Scene& scene, TensorId from) {
  constexpr size_t kMostPlaces = 64;
  Tensors places = {from};
  for (size_t i = 0; i < places.size(); ++i) {
    const TensorFacts& facts = scene.facts.tensors[places[i]];
    if (facts.is_dropped_partial || places.size() > kMostPlaces) return {};
    if (facts.is_needed_whole) continue;
    for (const int n : facts.readers) {
      const NodeFacts& reader = scene.facts.nodes[static_cast<size_t>(n)];
      if (!reader.is_plain) return {};
      const TensorId next = carried_by(scene.graph(), scene.facts, n, places[i]);
      if (next == kNoTensor) return {};
      if (std::find(places.begin(), places.end(), next) == places.end()) places.push_back(next);
    }
  }
  return places;
}

class PartTerms {
 public:
  PartTerms(SharedScene scene, size_t part, double times, TermCollector& collector)
      : scene_(std::move(scene)), part_(part), times_(times), collector_(collector) {}

  void add() {
    for (int n = 0; n < static_cast<int>(scene_->graph().nodes().size()); ++n)
      if (const NodeFacts& facts = scene_->facts.nodes[static_cast<size_t>(n)];
          facts.computes && !facts.is_replaced)
        add_node(n);
    for (const TensorId id : scene_->facts.tensors.ids()) add_traffic(id);
    for (int n = 0; n < static_cast<int>(scene_->graph().nodes().size()); ++n) add_carried(n);
  }

 private:
  void add_node(int n) {
    const Node& node = scene_->node(n);
    std::set<std::string> dims;
    add_dims(*scene_, node.operands, dims);
    add_dims(*scene_, node.results, dims);
    const std::string key = key_of(*scene_, node, part_);
    if (!scene_->facts.nodes[static_cast<size_t>(n)].may_fuse || is_counted(n))
      collector_.add("kernel" + key, times_, dims, [scene = scene_, n](const Layout& layout) {
        return least_cost(*scene, n, layout,
                          [&](const Strategy& strategy) { return kernel_cost(*scene, n, layout, strategy); });
      });
    for (size_t r = 0; r < node.results.size(); ++r) {
      const TensorFacts& tensor = scene_->facts.tensors[node.results[r]];
      if (!tensor.is_needed_whole || !may_reduce(n)) continue;
      reduced_.insert(node.results[r]);
      collector_.add("reduce" + std::to_string(r) +
                         (is_reduced_alone(*scene_, n, node.results[r]) ? "alone" : "any") + key,
                     times_, dims, [scene = scene_, n, r](const Layout& layout) {
                       return least_cost(*scene, n, layout, [&](const Strategy& strategy) {
                         return result_reduction(*scene, n, r, layout, strategy);
                       });
                     });
    }
  }

  bool is_counted(int n) const { return !scene_->node(n).op->traits.is_constant; }

  bool may_reduce(int n) const {
    const std::vector<Factor>& factors = scene_->facts.nodes[static_cast<size_t>(n)].factors;
    return std::any_of(factors.begin(), factors.end(),
                       [](const Factor& factor) { return factor.kind == Factor::Kind::kReduce; });
  }

  void add_traffic(TensorId id) {
    const TensorFacts& facts = scene_->facts.tensors[id];
    if (facts.fused_reads == 0 && !facts.is_fused_write) return;
    std::set<std::string> dims;
    add_dims(*scene_, {id}, dims);
    const bool is_split = is_split_state(scene_->input.split, scene_->graph(), scene_->graph().tensor(id));
    collector_.add("traffic" + std::to_string(part_) + to_string(scene_->graph().type(id)) +
                       (is_split ? "split" : "") + std::to_string(facts.fused_reads) +
                       (facts.is_fused_write ? "w" : ""),
                   times_, dims,
                   [scene = scene_, id](const Layout& layout) { return fused_traffic(*scene, id, layout); });
  }

  // A sum of node `n` that may be carried along. Where others may be reduced together with it, only the first counts.
  void add_carried(int n) {
    const Node& node = scene_->node(n);
    const NodeFacts& facts = scene_->facts.nodes[static_cast<size_t>(n)];
    if (!facts.is_plain || node.results.size() != 1 || !may_reduce(n) || reduced_.count(node.results[0]) > 0)
      return;
    if (std::any_of(facts.factors.begin(), facts.factors.end(), [](const Factor& factor) {
          return factor.kind == Factor::Kind::kReduce && factor.reduce != ReduceKind::kSum;
        }))
      return;
    const Tensors places = places_of(*scene_, node.results[0]);
    if (places.empty() ||
        std::any_of(places.begin(), places.end(), [&](TensorId id) { return reduced_.count(id) > 0; }))
      return;
    reduced_.insert(places.begin(), places.end());
    std::set<std::string> dims;
    add_dims(*scene_, node.operands, dims);
    add_dims(*scene_, places, dims);
    std::string key = "carry" + key_of(*scene_, node, part_);
    for (const TensorId id : places) key += ";" + to_string(scene_->graph().type(id));
    collector_.add(key, times_, dims, [scene = scene_, n, places](const Layout& layout) {
      return least_cost(*scene, n, layout, [&](const Strategy& strategy) {
        return carried_reduction(*scene, places, layout, strategy);
      });
    });
  }

  SharedScene scene_;
  size_t part_;
  double times_;
  TermCollector& collector_;
  std::set<TensorId> reduced_;  // tensors whose reductions are in a term
};

}  // namespace

std::vector<BoundTerm> bound_terms(const BoundInput& input) {
  TermCollector collector;
  for (size_t p = 0; p < input.parts.size(); ++p) {
    const EntryGraph& entry = input.parts[p].graph;
    auto scene =
        std::make_shared<const Scene>(Scene{input, entry, graph_facts(entry, input.pairs, input.split)});
    PartTerms(std::move(scene), p, static_cast<double>(input.parts[p].times), collector).add();
  }
  return collector.take();
}

}  // namespace mtfc
