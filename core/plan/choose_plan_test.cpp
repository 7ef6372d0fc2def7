// The chosen plan of small random graphs costs as much as the cheapest of all combinations of ways to run their nodes,
// each of which is turned into steps and counted.

#include "core/plan/choose_plan.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <optional>
#include <random>

#include "core/lower/partition.h"
#include "core/plan/node_options.h"
#include "core/program/collective_cost.h"
#include "core/program/reshard.h"
#include "core/testing/sanitized.h"
#include "core/testing/settings.h"

namespace mtfc::choose_plan_test {
namespace {

constexpr int64_t kGraphs = kSanitized ? 10 : 150;
constexpr double kMostCombinations = 3000;

// A random graph whose leaves and last results have fixed shardings.
class RandomGraph {
 public:
  explicit RandomGraph(uint64_t seed) : random_(static_cast<std::mt19937::result_type>(seed)) {
    for (const char* name : {"a", "b", "c"}) all_.push_back({name, int64_t{1} << (3 + below(6))});
    mesh_ = below(3) == 0 ? Mesh({{"x", 2}, {"y", 2}}) : Mesh({{"x", static_cast<int64_t>(2 + below(3))}});
    const bool has_two = mesh_.axes().size() == 2;
    for (const Dim& dim : all_) rules_.push_back({dim.name, {has_two && dim.name == "b" ? 1 : 0}, {}});
    for (size_t i = 0; i < 2 + below(2); ++i)
      tensors_.push_back(builder_.add_input(fmt::format("u{}", i), {DType::kF32, some_dims()}));
    const size_t operations = 2 + below(6);
    while (builder_.graph().nodes().size() < tensors_.size() + operations && tries_++ < 40) add_operation();
    finish();
  }

  EntryGraph entry() const { return entry_; }
  const Mesh& mesh() const { return mesh_; }
  /// One for each dimension.
  const std::vector<Rule>& rules() const { return rules_; }

 private:
  size_t below(size_t limit) { return random_() % limit; }

  Dims some_dims() {
    Dims dims = all_;
    std::shuffle(dims.begin(), dims.end(), random_);
    dims.resize(1 + below(3));
    return dims;
  }

  TensorId any() {
    const PerTensor<Tensor>& all = builder_.graph().tensors();
    return TensorId(all.size() - 1 - below(std::min<size_t>(all.size(), 4)));
  }

  void add_operation() {
    const TensorId x = any(), y = any();
    const Dims both = unite(builder_.dims(x), builder_.dims(y));
    switch (below(5)) {
      case 0:
        if (x != y) builder_.op("add", {x, y});
        return;
      case 1:
        if (x != y) builder_.op("mul", {x, y});
        return;
      case 2:
        builder_.op("relu", {x});
        return;
      case 3:
        if (!builder_.dims(x).empty()) builder_.op("reduce_sum", {x}, {{"over", Dims{builder_.dims(x)[0]}}});
        return;
      default: {
        Dims kept = both;
        std::erase_if(kept, [&](const Dim&) { return below(3) == 0; });
        if (x != y) builder_.op("einsum", {x, y}, {{"dims", kept}});
      }
    }
  }

  Sharding any_sharding(const Dims& dims) {
    Sharding sharding = replicated(dims.size());
    AxisList used;
    for (size_t d = 0; d < dims.size(); ++d) {
      const int axis = rules_[static_cast<size_t>(position(all_, dims[d].name))].axes[0];
      if (below(3) == 0 || contains(used, axis)) continue;
      sharding.dims[d] = {axis};
      used.push_back(axis);
    }
    return sharding;
  }

  void finish() {
    entry_.name = "evaluate";
    entry_.graph = std::move(builder_).build();
    PerTensor<bool> is_read(entry_.graph.tensors().size(), false);
    for (const Node& node : entry_.graph.nodes())
      for (const TensorId id : node.operands) is_read[id] = true;
    size_t next = 0;
    entry_.graph = with_layout(
        std::move(entry_.graph),
        [&](const Tensor& tensor) -> StatedLayout {
          const bool is_leaf = tensor.name[0] == 'u', is_last = !is_read[TensorId(next++)];
          if (!is_leaf && !is_last) return {};
          return {std::make_shared<const TensorAnnotation>(
              TensorAnnotation{any_sharding(tensor.type.dims), tensor.name, {}})};
        },
        [](const GraphLoop& loop) { return loop; });
    for (const TensorId id : entry_.graph.tensors().ids())
      if (!is_read[id]) entry_.outputs.push_back({entry_.graph.tensor(id).name, id});
  }

  std::mt19937 random_;
  Dims all_;
  std::vector<Rule> rules_;
  Mesh mesh_;
  GraphBuilder builder_;
  std::vector<TensorId> tensors_;
  size_t tries_ = 0;
  EntryGraph entry_;
};

// The cost of the kernels and, by bytes, of the collectives.
PlanCost cost_of_steps(const PartitionedEntry& made, const Mesh& mesh, const PlanHardware& hardware = {}) {
  const PlanPrices prices(mesh, hardware);
  PlanCost cost;
  for (const Step& step : made.entry.steps) {
    if (step.kind() == StepKind::kStart && !hardware.hardware)
      cost += prices.exchange(largest_collective_cost(made.entry, step, mesh).bytes_sent, {});
    if (step.kind() == StepKind::kKernel)
      cost += prices.operation(*step.op(),
                               {step.attributes(), local_types(made.entry, step.inputs, mesh, mesh.last())},
                               local_types(made.entry, step.outputs, mesh, mesh.last()));
  }
  return cost;
}

// The cost of a plan, counted from its steps. By seconds, reshards are counted from its forms, as steps do not say which
// moves belong together.
PlanCost cost_of_plan(const ShardedEntry& plan, const Mesh& mesh, const PlanHardware& hardware) {
  PlanCost cost = cost_of_steps(partition(plan, {}, mesh), mesh, hardware);
  if (!hardware.hardware) return cost;
  const PlanPrices prices(mesh, hardware);
  const Graph& graph = plan.entry.graph;
  for (const TensorId id : graph.tensors().ids())
    for (const PlannedForm& form : plan.forms[id])
      cost += prices.reshard(graph.type(id), form.from, form.sharding, false);
  return cost;
}

// The options of every node when the axis of a rule may split the rule's dimension anywhere, and a sum over any axis
// may pass.
std::vector<std::vector<NodeOption>> all_options(const Graph& graph, const Layout& layout,
                                                 const PlanHardware& hardware) {
  AxisLists lists;
  const auto lists_of = [&](TensorId id) {
    std::vector<ListSet> found;
    for (const Dim& dim : graph.type(id).dims)
      found.push_back(lists.with_prefixes(find_rule(layout, dim.name)->axes));
    return found;
  };
  std::vector<std::vector<NodeOption>> options;
  for (const Node& node : graph.nodes()) {
    options.emplace_back();
    if (node.kind != NodeKind::kOp) continue;
    NodeCall call{graph, node, {}, {}, {}};
    for (const TensorId id : node.operands) {
      call.operand_lists.push_back(lists_of(id));
      call.partial.push_back(graph.producer(id).kind == NodeKind::kOp ? ~uint64_t{0} : 0);
    }
    for (const TensorId id : node.results) call.result_lists.push_back(lists_of(id));
    const std::vector<TensorType> operands = graph.operand_types(node);
    options.back() = options_of(call, node.op->roles({node.attributes, operands}, graph.result_types(node)),
                                lists, layout.mesh, PlanPrices(layout.mesh, hardware), {});
  }
  return options;
}

class EveryPlan {
 public:
  EveryPlan(const EntryGraph& entry, std::vector<std::vector<NodeOption>> options, const Mesh& mesh,
            const PlanHardware& hardware)
      : options_(std::move(options)), mesh_(mesh), hardware_(hardware) {
    sharded_.entry = entry;
    const Graph& graph = entry.graph;
    sharded_.strategies.resize(graph.nodes().size());
    sharded_.carries.resize(graph.nodes().size());
    for (const Tensor& tensor : graph.tensors())
      sharded_.shardings.push_back(tensor.annotation ? tensor.annotation->sharding
                                                     : replicated(tensor.type.dims.size()));
    sharded_.outputs.resize(entry.outputs.size());
    given_.resize(graph.tensors().size());
    chosen_.resize(graph.nodes().size());
    for (const TensorId id : graph.tensors().ids()) given_[id] = sharded_.shardings[id];
  }

  PlanCost least() {
    try_node(0);
    return best_;
  }

 private:
  static bool has(const Sharding& from, const Partial& partial) {
    return std::find(from.partial.begin(), from.partial.end(), partial) != from.partial.end();
  }

  void try_node(size_t n) {
    const Graph& graph = sharded_.entry.graph;
    if (n == graph.nodes().size()) {
      plan_forms();
      best_ = std::min(best_, cost_of_plan(sharded_, mesh_, hardware_));
      return;
    }
    const Node& node = graph.nodes()[n];
    if (node.kind != NodeKind::kOp) return try_node(n + 1);
    for (const NodeOption& option : options_[n]) {
      bool is_possible = true;
      for (size_t i = 0; i < node.operands.size(); ++i)
        for (const Partial& partial : option.operands[i].partial)
          is_possible = is_possible && has(given_[node.operands[i]], partial);
      if (!is_possible) continue;
      const TensorId result = node.results[0];
      chosen_[n] = &option;
      sharded_.strategies[n] = strategy_of(option);
      sharded_.carries[n] = carries_of(option);
      if (!graph.tensor(result).annotation) sharded_.shardings[result] = option.results[0].whole();
      given_[result] = option.results[0];
      try_node(n + 1);
    }
  }

  // Makes every form that is read from whichever form is cheapest when the first node reads it.
  void plan_forms() {
    const Graph& graph = sharded_.entry.graph;
    sharded_.forms.assign(graph.tensors().size(), {});
    for (size_t n = 0; n < graph.nodes().size(); ++n)
      if (const Node& node = graph.nodes()[n]; node.kind == NodeKind::kOp)
        for (size_t i = 0; i < node.operands.size(); ++i)
          plan_form(node.operands[i], chosen_[n]->operands[i]);
    for (size_t i = 0; i < sharded_.outputs.size(); ++i) {
      const TensorId output = sharded_.entry.outputs[i].tensor;
      sharded_.outputs[i] = sharded_.shardings[output];
      plan_form(output, sharded_.outputs[i]);
    }
  }

  void plan_form(TensorId id, const Sharding& wanted) {
    const TensorType& type = sharded_.entry.graph.type(id);
    std::vector<PlannedForm>& planned = sharded_.forms[id];
    std::vector<Sharding> held = {given_[id]};
    for (const PlannedForm& form : planned) held.push_back(form.sharding);
    const PlanPrices prices(mesh_, hardware_);
    std::optional<PlanCost> least;
    Sharding from;
    for (const Sharding& form : held) {
      if (form == wanted) return;
      const bool is_source = std::all_of(wanted.partial.begin(), wanted.partial.end(),
                                         [&](const Partial& partial) { return has(form, partial); });
      if (!is_source) continue;
      const PlanCost cost = prices.reshard(type, form, wanted, false);
      if (least && !(cost < *least)) continue;
      least = cost;
      from = form;
    }
    if (hardware_.hardware) {
      planned.push_back({wanted, from, prices.way(type, from, wanted, false)});
      return;
    }
    for (const Move& move : plan_reshard(type.dims, from, wanted, mesh_)) {
      if (std::find(held.begin(), held.end(), move.to) == held.end()) planned.push_back({move.to, from});
      from = move.to;
    }
  }

  ShardedEntry sharded_;
  std::vector<const NodeOption*> chosen_;  // per node
  std::vector<std::vector<NodeOption>> options_;
  const Mesh& mesh_;
  const PlanHardware& hardware_;
  PerTensor<Sharding> given_;  // the form in which the producer gives each tensor
  PlanCost best_ = PlanCost::impossible();
};

// `rarely_less`: what share of chosen plans may cost less than all combinations. In these, forms are made from whichever
// is cheapest when the first node reads them.
void compare_with_all(const PlanHardware& hardware, double rarely_less) {
  const int64_t graphs = setting("MTFC_CASES", kGraphs), first = setting("MTFC_SEED", 1);
  int64_t compared = 0, is_less = 0;
  for (int64_t seed = first; compared < graphs; ++seed) {
    const RandomGraph graph(static_cast<uint64_t>(seed));
    const Layout layout{graph.mesh(), graph.rules(), {}, true};
    const EntryGraph entry = graph.entry();
    std::vector<std::vector<NodeOption>> options = all_options(entry.graph, layout, hardware);
    double combinations = 1;
    for (const std::vector<NodeOption>& list : options)
      combinations *= static_cast<double>(std::max<size_t>(list.size(), 1));
    if (combinations > kMostCombinations) continue;
    ++compared;
    CAPTURE(seed);
    CAPTURE(to_string(entry.graph));
    const ChosenPlan chosen = choose_plan(entry, {layout, {}, {}, false, false, hardware});
    CAPTURE(to_string(chosen.entry, graph.mesh()));
    CHECK(chosen.cost == chosen.bound);
    CHECK(cost_of_plan(chosen.entry, graph.mesh(), hardware) == chosen.cost);
    const PlanCost least = EveryPlan(entry, std::move(options), graph.mesh(), hardware).least();
    is_less += chosen.cost < least ? 1 : 0;
    CHECK_MESSAGE(chosen.cost <= least, fmt::format("{} against {}", chosen.cost.total, least.total));
  }
  MESSAGE(fmt::format("{} of {} chosen plans cost less than all combinations", is_less, compared));
  CHECK(static_cast<double>(is_less) <= rarely_less * static_cast<double>(compared));
}

}  // namespace

TEST_CASE("no combination of ways to run the nodes of a graph costs less than the chosen plan") {
  compare_with_all({}, 0.02);
}

TEST_CASE("no combination of ways to run the nodes of a graph takes less time than the chosen plan") {
  // Collectives take about as long as kernels, so that either may decide.
  Hardware hardware;
  hardware.name = "even";
  hardware.flops["f32"] = 1e11;
  hardware.memory_bandwidth = 1e11;
  hardware.step_overhead_s = 1e-8;
  hardware.axes["*"] = {{1e-8, 1e10}, true, {}};
  compare_with_all({&hardware, {true}}, 0.02);
  compare_with_all({&hardware, {.by_seconds = true, .fused = FusedMoves::kSlices}}, 0.02);
}

TEST_CASE("a choice that ends early has a plan that runs, and says so") {
  const uint64_t graphs = kSanitized ? 4 : 40;
  uint64_t early = 0, dearer = 0;
  for (uint64_t seed = 1; seed <= graphs; ++seed) {
    const RandomGraph graph(seed);
    const Layout layout{graph.mesh(), graph.rules(), {}, true};
    const EntryGraph entry = graph.entry();
    CAPTURE(seed);
    CAPTURE(to_string(entry.graph));
    const ChosenPlan best = choose_plan(entry, {layout, {}, {}});
    CHECK(best.is_complete);
    for (const int most : {0, 3, 10, 30, INT_MAX}) {
      int asked = 0;
      const auto ends = [&] { return ++asked > most; };
      const ChosenPlan chosen = choose_plan(entry, {layout, {}, {}, false, false, {}, nullptr, ends});
      CAPTURE(most);
      CHECK(cost_of_steps(partition(chosen.entry, {}, graph.mesh()), graph.mesh()) == chosen.cost);
      CHECK(chosen.cost >= best.cost);
      CHECK(chosen.bound <= best.cost);
      if (chosen.is_complete) {
        CHECK(to_string(chosen.entry, graph.mesh()) == to_string(best.entry, graph.mesh()));
        CHECK(chosen.bound == best.bound);
      }
      CHECK((asked <= most) == chosen.is_complete);
      early += chosen.is_complete ? 0 : 1;
      dearer += chosen.cost > best.cost ? 1 : 0;
    }
  }
  CHECK(early > graphs);
  CHECK(dearer > 0);
}

}  // namespace mtfc::choose_plan_test
