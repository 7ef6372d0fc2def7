#include "core/compile/pass_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <new>
#include <utility>

#include "core/compile/variable_placement.h"
#include "core/cost/kernel_time.h"
#include "core/diagnostics/progress.h"
#include "core/diagnostics/stop.h"
#include "core/graph/graph_check.h"
#include "core/lower/steps_interface.h"
#include "core/model/entry_points.h"
#include "core/model/model_graphs.h"
#include "core/model/size_limits.h"
#include "core/plan/sharded_entry.h"

namespace mtfc {
namespace {

// A pass has failed, or has made something faulty. The message names the pass.
struct PassFault : InternalError {
  using InternalError::InternalError;
};

std::string problem_of(const std::optional<ProgramFault>& fault) {
  return fault ? fmt::format("{}: {}", fault->pointer, fault->what()) : "";
}

std::vector<std::string> names_of(bool (*is_wanted)(const Pass&)) {
  std::vector<std::string> names;
  for (const Pass& pass : all_passes())
    if (is_wanted(pass)) names.emplace_back(pass.name);
  return names;
}

template <typename... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};

const std::string& name_of(const PassValue& value) {
  static const std::string kModel(kModelDump);
  return std::visit(
      Overloaded{[](const Model&) -> const std::string& { return kModel; },
                 [](const EntryGraph& graph) -> const std::string& { return graph.name; },
                 [](const ChosenPlan& plan) -> const std::string& { return plan.entry.entry.name; },
                 [](const ShardedEntry& sharded) -> const std::string& { return sharded.entry.name; },
                 [](const PartitionedEntry& steps) -> const std::string& { return steps.entry.name; },
                 [](const EntryPoint& entry) -> const std::string& { return entry.name; }},
      value);
}

// The products of the operations of `graph`, apart from those in its loops.
UsefulProducts useful_products(const Graph& graph) {
  UsefulProducts found;
  for (const Node& node : graph.nodes()) {
    if (node.kind != NodeKind::kOp || !is_product(*node.op)) continue;
    const std::vector<LocalType> operands = held_whole(graph.operand_types(node)),
                                 results = held_whole(graph.result_types(node));
    const int64_t flops = node.op->flops({node.attributes, operands}, results);
    found.flops += flops;
    found.needed[rated_dtype(*node.op, operands, results[0])] +=
        std::llround(static_cast<double>(flops) * share_useful(*node.op, node.attributes));
  }
  return found;
}

// Adds those of `times` runs of a part to those of the whole.
void add(UsefulProducts& whole, const UsefulProducts& part, int64_t times) {
  whole.flops += part.flops * times;
  for (const auto& [dtype, flops] : part.needed) whole.needed[dtype] += flops * times;
}

}  // namespace

Model PassRunner::formed(Model model, const ModelForm& form) {
  timed_as_ = kModelDump;
  PassContext forming = context();
  forming.form = &form;
  return run<Model>(PassStage::kForm, std::move(model), forming);
}

EntryGraph PassRunner::declared(const Model& model, const std::string& name) {
  if (name != "train") return entry_named(model, name, options_.keep);
  timed_as_ = name;
  PassContext training = context();
  training.model = &model;
  EntryGraph forward = run<EntryGraph>(PassStage::kTrain, forward_entry(model, options_.keep), training);
  return with_updates(std::move(forward), model, options_.keep);
}

EntryGraph PassRunner::lower_graph(EntryGraph entry, UsefulProducts& useful) {
  timed_as_ = entry.name;
  entry = simplified(std::move(entry), useful);
  entry.graph = with_lowered_loops(std::move(entry.graph), entry.name, 1, useful);
  return entry;
}

EntryGraph PassRunner::rematerialized(EntryGraph entry) {
  entry = run<EntryGraph>(PassStage::kRematerialize, std::move(entry), context());
  const std::string name = entry.name;
  entry.graph = with_changed_parts(std::move(entry.graph), name, [&](EntryGraph part, const GraphLoop&) {
    return rematerialized(std::move(part));
  });
  return entry;
}

void PassRunner::check_graph(EntryGraph entry) {
  timed_as_ = entry.name;
  entry = run<EntryGraph>(PassStage::kExpand, std::move(entry), context());
  const auto is_loop = [](const Node& node) { return node.kind == NodeKind::kLoop; };
  const Nodes& nodes = entry.graph.nodes();
  // The simplifications refuse nothing. They matter only near the size limits, which apply to the simplified graph,
  // and in loops, whose parts are checked after them.
  if (std::none_of(nodes.begin(), nodes.end(), is_loop) && is_far_from_limits(entry)) return;
  entry = run<EntryGraph>(PassStage::kSimplify, std::move(entry), context());
  require_countable(entry);
  for (const Node& node : entry.graph.nodes()) {
    if (!node.loop) continue;
    check_graph(entry_of(node.loop->condition, entry.name, 0));
    check_graph(entry_of(node.loop->body, entry.name, node.loop->sums));
  }
}

ChosenPlan PassRunner::choose(EntryGraph entry, const Shardings& variables, const PlanHardware& hardware,
                              const ChosenPlan* known, std::shared_ptr<const PlanSpace>* shared) {
  timed_as_ = entry.name;
  Layout layout = program_.layout;
  // Initial values are no activations, and a step of generation has one position.
  if (entry.name == "init" || is_for_generation(entry.name)) layout.between.clear();
  const PlanConditions conditions{layout,
                                  split_,
                                  variables,
                                  true,
                                  by_rules_,
                                  hardware,
                                  options_.offered,
                                  options_.ends_choice,
                                  &program_.plan.of(entry.name),
                                  shared};
  PassContext choosing = context();
  choosing.conditions = &conditions;
  ChosenPlan plan =
      known ? *known : run<ChosenPlan>(PassStage::kChoose, rematerialized(std::move(entry)), choosing);
  if (options_.planned && !by_rules_) options_.planned(plan, conditions);
  // A cache is split alike in all entry points, and an entry point need not use each.
  plan.variables.insert(variables.begin(), variables.end());
  return plan;
}

EntryPoint PassRunner::lower_plan(ChosenPlan plan, const UsefulProducts& useful, int64_t bytes,
                                  std::vector<VariableDecl> caches) {
  timed_as_ = plan.entry.entry.name;
  const auto decided = [&](const VariableDecl& cache) {
    const auto at = plan.variables.find(cache.name);
    return at != plan.variables.end() ? at->second : replicated(cache.type.dims.size());
  };
  std::vector<ProgramVariable> held = program_.variables;
  for (ProgramVariable& cache : placed_variables(std::move(caches), program_.mesh(), decided, bytes))
    held.push_back(std::move(cache));
  PassContext lowering = context();
  lowering.held = &held;
  lowering.by_rules = by_rules_;
  lowering.bytes = bytes;
  const PlanFigures figures = figures_of(plan);
  PartitionedEntry steps = planned_steps(std::move(plan.entry), lowering);
  steps.entry.useful = useful;
  EntryPoint made = run<EntryPoint>(PassStage::kPlace, std::move(steps), lowering);
  if (!by_rules_) made.plan = figures;
  return made;
}

// The graph with the parts of its loops after the passes over graphs, and the parts of the loops in these.
Graph PassRunner::with_lowered_loops(Graph graph, const std::string& entry, int64_t times,
                                     UsefulProducts& useful) {
  return with_changed_parts(std::move(graph), entry, [&](EntryGraph part, const GraphLoop& loop) {
    const int64_t rounds = times * std::max<int64_t>(loop.times, 1);
    UsefulProducts of_part;
    part = simplified(std::move(part), of_part);
    add(useful, of_part, rounds);
    part.graph = with_lowered_loops(std::move(part.graph), entry, rounds, useful);
    return part;
  });
}

// The entry point, or a part of a loop, after the passes that look neither at the layout nor at the plan.
EntryGraph PassRunner::simplified(EntryGraph entry, UsefulProducts& useful) {
  entry = run<EntryGraph>(PassStage::kExpand, std::move(entry), context());
  entry = run<EntryGraph>(PassStage::kSimplify, std::move(entry), context());
  require_countable(entry);
  add(useful, useful_products(entry.graph), 1);
  return entry;
}

// The steps of a chosen plan, or of a part of a loop in it; `above` is the context of the entry point.
PartitionedEntry PassRunner::planned_steps(ShardedEntry plan, const PassContext& above) {
  PassContext lowering = above;
  lowering.lower_part = [&](ShardedEntry part) { return planned_steps(std::move(part), above); };
  const EntryGraph graph = options_.verify ? plan.entry : EntryGraph{};
  lowering.graph = &graph;
  PassValue chosen = std::move(plan);
  const Pass& chooser = passes_of(PassStage::kChoose).back();
  look(chooser.name, chosen, options_.verify ? problem_in(chooser, chosen, {}, lowering) : "");
  return run<PartitionedEntry>(PassStage::kLower, std::move(chosen), lowering);
}

template <typename To>
To PassRunner::run(PassStage stage, PassValue value, const PassContext& context) {
  return std::get<To>(run(std::move(value), passes_of(stage), context));
}

PassValue PassRunner::run(PassValue value, std::span<const Pass> passes, const PassContext& context) {
  for (const Pass& pass : passes) {
    if (options_.without_passes.contains(pass.name)) continue;
    const bool is_compared =
        std::holds_alternative<EntryGraph>(value) || std::holds_alternative<Model>(value);
    const PassValue before = is_compared && options_.verify ? value : PassValue();
    value = run_timed(pass, std::move(value), context);
    look(pass.name, value, options_.verify ? problem_in(pass, value, before, context) : "");
  }
  return value;
}

PassValue PassRunner::run_timed(const Pass& pass, PassValue value, const PassContext& context) {
  check_stop();
  tell_progress({fmt::format("compiling {}: {}", timed_as_, pass.name)});
  const auto start = std::chrono::steady_clock::now();
  value = run_blamed(pass, std::move(value), context);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  if (options_.timed) options_.timed(timed_as_, pass.name, seconds.count());
  return value;
}

// Runs the pass. If passes are verified, the error of an invariant that breaks in it has the name of the pass.
PassValue PassRunner::run_blamed(const Pass& pass, PassValue value, const PassContext& context) const {
  try {
    return pass.run(std::move(value), context);
  } catch (const PassFault&) {  // of a pass over a part of a loop
    throw;
  } catch (const UserError&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    if (!options_.verify) throw;
    throw PassFault(fmt::format("the pass '{}' has failed for '{}': {}", pass.name, timed_as_, error.what()));
  }
}

// Returns the fault of a value that a pass has made, or "". `before`: the value that it was made from, if both are
// graphs or models.
std::string PassRunner::problem_in(const Pass& pass, const PassValue& value, const PassValue& before,
                                   const PassContext& context) const {
  const auto first_of = [](std::string problem, auto... others) {
    ((problem = problem.empty() ? others() : problem), ...);
    return problem;
  };
  return std::visit(
      Overloaded{
          [&](const Model& model) { return model_problem(std::get<Model>(before), model); },
          [&](const EntryGraph& entry) {
            const bool is_expanded = pass.stage >= PassStage::kExpand;
            return first_of(
                graph_problem(entry),
                [&] { return is_expanded ? expansion_problem(entry.graph, pass.keeps_gradients) : ""; },
                [&] { return difference_of_interface(std::get<EntryGraph>(before), entry); });
          },
          [](const ChosenPlan&) { return std::string(); },  // its parts are looked at one by one
          [&](const ShardedEntry& sharded) {
            return first_of(
                graph_problem(sharded.entry), [&] { return sharding_problem(sharded, context.mesh()); },
                [&] { return storage_problem(sharded, context.variables(), context.mesh()); });
          },
          [&](const PartitionedEntry& steps) {
            return first_of(problem_of(find_structure_fault(steps, context.mesh())), [&] {
              return difference_of_interface(*context.graph, steps, context.variables());
            });
          },
          [&](const EntryPoint& entry) { return problem_of(find_entry_fault(program_, entry)); }},
      value);
}

// Throws if the pass has made something faulty. Dumps it if that is asked for.
void PassRunner::look(const char* pass, const PassValue& value, const std::string& problem) const {
  if (!problem.empty())
    throw PassFault(fmt::format("the pass '{}' has made a faulty '{}': {}", pass, name_of(value), problem));
  if (options_.dump_after != pass) return;
  const auto dump_text = [&](const std::string& text) {
    if (options_.dump_graph) options_.dump_graph(name_of(value), text);
  };
  const auto dump_entry = [&](const EntryPoint& entry) {
    if (options_.dump_steps) options_.dump_steps(program_, entry);
  };
  const auto decode_text = [](const Model& model) {
    return model.decode ? "decode:\n" + to_string(model.decode->graph) : "";
  };
  std::visit(Overloaded{[&](const Model& model) { dump_text(to_string(model.graph) + decode_text(model)); },
                        [&](const EntryGraph& entry) { dump_text(to_string(entry.graph)); },
                        [](const ChosenPlan&) {},
                        [&](const ShardedEntry& sharded) { dump_text(to_string(sharded, program_.mesh())); },
                        [&](const PartitionedEntry& steps) { dump_entry(steps.entry); },
                        [&](const EntryPoint& entry) { dump_entry(entry); }},
             value);
}

const std::vector<std::string>& pass_names() {
  static const std::vector<std::string> kNames = names_of([](const Pass&) { return true; });
  return kNames;
}

const std::vector<std::string>& improving_passes() {
  static const std::vector<std::string> kNames =
      names_of([](const Pass& pass) { return pass.only_improves; });
  return kNames;
}

}  // namespace mtfc
