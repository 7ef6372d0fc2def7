#include "core/passes/pass_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <new>
#include <utility>

#include "core/diagnostics/progress.h"
#include "core/diagnostics/stop.h"
#include "core/graph/expand_composites.h"
#include "core/graph/graph_check.h"
#include "core/model/size_limits.h"
#include "core/passes/graph/expand_gradients.h"
#include "core/passes/graph/order_contractions.h"
#include "core/passes/graph/recompute.h"
#include "core/passes/graph/regather.h"
#include "core/passes/graph/remove_dead.h"
#include "core/passes/graph/share_common.h"
#include "core/passes/graph/simplify.h"
#include "core/passes/ring_choice.h"
#include "core/passes/steps/assign_buffers.h"
#include "core/passes/steps/combine_reductions.h"
#include "core/passes/steps/form_rings.h"
#include "core/passes/steps/fuse.h"
#include "core/passes/steps/inline_loops.h"
#include "core/passes/steps/partition.h"
#include "core/passes/steps/reuse_halos.h"
#include "core/passes/steps/schedule.h"
#include "core/passes/steps/steps_interface.h"
#include "core/passes/useful_products.h"
#include "core/passes/variable_placement.h"

namespace mtfc {

// The context of a pass: everything that it reads apart from the entry point.
struct PassContext {
  const Layout& layout;
  const CompileOptions& options;
  const std::vector<ProgramVariable>& variables;  // of the program, and after them the entry point's caches
  bool by_rules;                                  // the rules state how every tensor is split
  bool saves_by_rings;                            // where that takes less memory
  std::function<PartitionedEntry(ShardedEntry)> lower_part;  // steps of a part of a loop

  const Mesh& mesh() const { return layout.mesh; }
};

struct GraphPass {
  const char* name;
  EntryGraph (*run)(EntryGraph);
  bool keeps_gradients = false;  // gradients are to be expanded after it
};

namespace {

// Lowers the loops of the graph by the same passes, on their own. What loops add up is then split, and
// partial, as their bodies give it.
ShardedEntry lower_loops(ShardedEntry sharded, const PassContext& context) {
  const Nodes& nodes = sharded.entry.graph.nodes();
  std::vector<ShardedEntry> parts = std::exchange(sharded.parts, {});
  size_t part = 0;
  for (size_t n = 0; n < nodes.size(); ++n) {
    if (!nodes[n].loop) continue;
    const LoopSteps loop{context.lower_part(std::move(parts[part])),
                         context.lower_part(std::move(parts[part + 1])), nodes[n].loop->times,
                         nodes[n].loop->sums};
    part += 2;
    const EntryPoint& body = loop.body.entry;
    for (size_t i = body.outputs.size() - loop.sums; i < body.outputs.size(); ++i)
      sharded.strategies[n].results[i] = body.values[body.outputs[i].value].sharding;
    sharded.loops.push_back(loop);
  }
  return sharded;
}

// The passes, in order. A pass is a row: its name, and the function that makes one value from another. Each
// row is timed, verified and dumped in the same way.

// The only passes over graphs that may throw UserError.
constexpr GraphPass kExpansions[] = {
    {"expand_composites", [](EntryGraph entry) { return expand_composites(std::move(entry)); }, true},
    {"expand_gradients", expand_gradients},
};
// From here on every node is an operation, a leaf or a loop.
constexpr GraphPass kSimplifications[] = {
    {"remove_dead", remove_dead},
    {"simplify", [](EntryGraph entry) { return remove_dead(simplify(std::move(entry))); }},
    // From here on every einsum has one or two operands, and the arithmetic is fixed.
    {"order_contractions", order_contractions},
    {"share_common", share_common},
};

// From here on the plan counts, and the layout. What is computed again is not useful work.
constexpr const char* kRecompute = "recompute";
constexpr const char* kRegather = "regather";

// From here on the graph stays as it is.
constexpr const char* kChoosePlan = "choose_plan";
constexpr const char* kLowerLoops = "lower_loops";

struct PartitionPass {
  const char* name;
  PartitionedEntry (*run)(const ShardedEntry&, const PassContext&);
};
constexpr PartitionPass kPartition = {"partition",
                                      [](const ShardedEntry& sharded, const PassContext& context) {
                                        return partition(sharded, context.variables, context.mesh());
                                      }};

// From here on there are only steps on local values.
struct StepsPass {
  const char* name;
  PartitionedEntry (*run)(PartitionedEntry, const PassContext&);
};
constexpr StepsPass kStepsPasses[] = {
    {"form_rings",
     [](PartitionedEntry partitioned, const PassContext& context) {
       const auto wants = [&](const RingCandidate& candidate) {
         const Hardware* faster_on = context.by_rules ? nullptr : context.options.hardware;
         return wants_ring(candidate, context.layout, context.saves_by_rings, faster_on);
       };
       return form_rings(std::move(partitioned), wants, context.mesh());
     }},
    {"reuse_halos",
     [](PartitionedEntry partitioned, const PassContext& context) {
       return reuse_halos(std::move(partitioned), context.mesh());
     }},
    {"fuse",
     [](PartitionedEntry partitioned, const PassContext& context) {
       return fuse(std::move(partitioned), context.options.keep_all, context.mesh());
     }},
    // From here on some values live within one step, and get no place in memory.
    {"schedule", [](PartitionedEntry partitioned,
                    const PassContext& context) { return schedule(std::move(partitioned), context.mesh()); }},
    {"combine_reductions",
     [](PartitionedEntry partitioned, const PassContext& context) {
       return context.options.combines ? combine_reductions(std::move(partitioned), context.mesh())
                                       : std::move(partitioned);
     }},
    {"inline_loops",
     [](PartitionedEntry partitioned, const PassContext&) { return inline_loops(std::move(partitioned)); }},
};

constexpr const char* kAssignBuffers = "assign_buffers";

// The graph with `change` made to the conditions and bodies of its loops.
template <typename Change>
Graph with_changed_parts(Graph graph, const std::string& entry, Change change) {
  const auto changed = [&](const LoopPart& part, size_t sums, const GraphLoop& loop) {
    EntryGraph made = change(entry_of(part, entry, sums), loop);
    LoopPart to{std::move(made.graph), {}};
    for (const NamedTensor& output : made.outputs) to.results.push_back(output.tensor);
    return to;
  };
  return with_layout(
      std::move(graph), [](const Tensor&) { return StatedLayout(); },
      [&](const GraphLoop& loop) {
        return GraphLoop{changed(loop.condition, 0, loop), changed(loop.body, loop.sums, loop), loop.times,
                         loop.sums};
      });
}

// A pass has failed, or has made something faulty. The message names the pass.
struct PassFault : InternalError {
  using InternalError::InternalError;
};

}  // namespace

EntryGraph PassRunner::lower_graph(EntryGraph entry, UsefulProducts& useful) {
  timed_as_ = entry.name;
  entry = simplified(std::move(entry), useful);
  entry.graph = with_lowered_loops(std::move(entry.graph), entry.name, 1, useful);
  return entry;
}

void PassRunner::check_graph(EntryGraph entry) {
  timed_as_ = entry.name;
  entry = run_graph_passes(std::move(entry), kExpansions);
  const auto is_loop = [](const Node& node) { return node.kind == NodeKind::kLoop; };
  const Nodes& nodes = entry.graph.nodes();
  // The simplifications refuse nothing. They matter only near the size limits, which apply to the simplified graph,
  // and in loops, whose parts are checked after them.
  if (std::none_of(nodes.begin(), nodes.end(), is_loop) && is_far_from_limits(entry)) return;
  entry = run_graph_passes(std::move(entry), kSimplifications);
  require_countable(entry);
  for (const Node& node : entry.graph.nodes()) {
    if (!node.loop) continue;
    check_graph(entry_of(node.loop->condition, entry.name, 0));
    check_graph(entry_of(node.loop->body, entry.name, node.loop->sums));
  }
}

ChosenPlan PassRunner::choose(EntryGraph entry, const Shardings& variables, const PlanHardware& hardware,
                              const ChosenPlan* known) {
  timed_as_ = entry.name;
  entry = regathered(rematerialized(std::move(entry)), split_.regathered);
  const PlanConditions conditions{program_.layout,
                                  split_,
                                  variables,
                                  true,
                                  by_rules_,
                                  hardware,
                                  options_.offered,
                                  options_.ends_choice,
                                  &program_.plan.of(entry.name)};
  ChosenPlan plan =
      timed(kChoosePlan, [&] { return known ? *known : choose_plan(std::move(entry), conditions); });
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
  std::vector<ProgramVariable> placed = placed_variables(std::move(caches), program_.mesh(), decided, bytes);
  const std::vector<ProgramVariable> variables = with_caches(placed);
  const PlanFigures figures = figures_of(plan);
  PartitionedEntry steps = planned_steps(std::move(plan.entry), variables);
  EntryPoint made = finished(std::move(steps), variables, std::move(placed), useful, bytes);
  if (!by_rules_) made.plan = figures;
  return made;
}

std::vector<ProgramVariable> PassRunner::with_caches(const std::vector<ProgramVariable>& caches) const {
  std::vector<ProgramVariable> variables = program_.variables;
  variables.insert(variables.end(), caches.begin(), caches.end());
  return variables;
}

EntryPoint PassRunner::finished(PartitionedEntry steps, const std::vector<ProgramVariable>& variables,
                                std::vector<ProgramVariable> caches, const UsefulProducts& useful,
                                int64_t bytes) {
  EntryPoint result = timed(
      kAssignBuffers, [&] { return assign_buffers(std::move(steps), variables, bytes, program_.mesh()); });
  result.useful = useful;
  result.caches = std::move(caches);
  verify(kAssignBuffers, timed_as_, [&] { return problem_of(find_entry_fault(program_, result)); });
  dump(kAssignBuffers, result);
  return result;
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

EntryGraph PassRunner::rematerialized(EntryGraph entry) {
  // A forward node that nothing but the backward pass has read is dead by now.
  entry = run_graph_pass(std::move(entry), kRecompute, false, [&](EntryGraph given) {
    return remove_dead(recompute(std::move(given), program_.plan.recomputed));
  });
  const std::string name = entry.name;
  entry.graph = with_changed_parts(std::move(entry.graph), name, [&](EntryGraph part, const GraphLoop&) {
    return rematerialized(std::move(part));
  });
  return entry;
}

// The steps of a chosen plan.
PartitionedEntry PassRunner::planned_steps(ShardedEntry plan, const std::vector<ProgramVariable>& variables) {
  const auto lower_part = [&](ShardedEntry part) { return planned_steps(std::move(part), variables); };
  const PassContext context{program_.layout, options_, variables, by_rules_, program_.plan.saves_by_rings,
                            lower_part};
  verify_sharded(kChoosePlan, plan, context);
  plan = timed(kLowerLoops, [&] { return lower_loops(std::move(plan), context); });
  verify_sharded(kLowerLoops, plan, context);
  return partitioned(plan, context);
}

void PassRunner::verify_sharded(const char* pass, const ShardedEntry& sharded,
                                const PassContext& context) const {
  verify(pass, sharded.entry.name, [&] {
    std::string problem = graph_problem(sharded.entry);
    if (problem.empty()) problem = sharding_problem(sharded, context.mesh());
    return problem.empty() ? storage_problem(sharded, context.variables, context.mesh()) : problem;
  });
  dump(pass, sharded.entry.name, [&] { return to_string(sharded, context.mesh()); });
}

// The passes over graphs, of an entry point or of a part of a loop.
EntryGraph PassRunner::simplified(EntryGraph entry, UsefulProducts& useful) {
  entry = run_graph_passes(run_graph_passes(std::move(entry), kExpansions), kSimplifications);
  require_countable(entry);
  add(useful, useful_products(entry.graph), 1);
  return entry;
}

EntryGraph PassRunner::run_graph_passes(EntryGraph entry, std::span<const GraphPass> passes) {
  for (const GraphPass& pass : passes)
    entry = run_graph_pass(std::move(entry), pass.name, pass.keeps_gradients, pass.run);
  return entry;
}

template <typename Run>
EntryGraph PassRunner::run_graph_pass(EntryGraph entry, const char* name, bool keeps_gradients, Run run) {
  const EntryGraph before = options_.verify ? entry : EntryGraph{};
  entry = timed(name, [&] { return run(std::move(entry)); });
  verify(name, entry.name, [&] {
    std::string problem = graph_problem(entry);
    if (problem.empty()) problem = expansion_problem(entry.graph, keeps_gradients);
    return problem.empty() ? difference_of_interface(before, entry) : problem;
  });
  dump(name, entry.name, [&] { return to_string(entry.graph); });
  return entry;
}

// The last pass over graphs, which depends on the layout. Gradients in loops may still have to be expanded.
EntryGraph PassRunner::regathered(EntryGraph entry, const std::set<std::string, std::less<>>& leaves) {
  return run_graph_pass(std::move(entry), kRegather, false,
                        [&](EntryGraph given) { return regather(std::move(given), leaves); });
}

// The passes up to `assign_buffers`, which sees the whole of an entry point with the steps of its loops.
PartitionedEntry PassRunner::partitioned(const ShardedEntry& sharded, const PassContext& context) {
  PartitionedEntry steps = timed(kPartition.name, [&] { return kPartition.run(sharded, context); });
  const auto difference = [&] { return difference_of_interface(sharded.entry, steps, context.variables); };
  check(kPartition.name, steps, difference);
  for (const StepsPass& pass : kStepsPasses) {
    steps = timed(pass.name, [&] { return pass.run(std::move(steps), context); });
    check(pass.name, steps, difference);
  }
  return steps;
}

template <typename Work>
auto PassRunner::timed(const char* pass, Work work) -> decltype(work()) {
  check_stop();
  tell_progress({fmt::format("compiling {}: {}", timed_as_, pass)});
  const auto start = std::chrono::steady_clock::now();
  auto result = blamed(pass, work);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  if (options_.timed) options_.timed(timed_as_, pass, seconds.count());
  return result;
}

// Runs the work of a pass. Where passes are verified, an invariant that breaks in it names the pass.
template <typename Work>
auto PassRunner::blamed(const char* pass, Work work) const -> decltype(work()) {
  try {
    return work();
  } catch (const PassFault&) {  // of a pass over a part of a loop
    throw;
  } catch (const UserError&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    if (!options_.verify) throw;
    throw PassFault(fmt::format("the pass '{}' has failed for '{}': {}", pass, timed_as_, error.what()));
  }
}

std::string PassRunner::problem_of(const std::optional<ProgramFault>& fault) {
  return fault ? fmt::format("{}: {}", fault->pointer, fault->what()) : "";
}

// `find_problem` gives what is wrong with what the pass has made, "" for nothing.
template <typename FindProblem>
void PassRunner::verify(const char* pass, const std::string& entry, FindProblem find_problem) const {
  if (!options_.verify) return;
  if (const std::string problem = find_problem(); !problem.empty())
    throw PassFault(fmt::format("the pass '{}' has made a faulty '{}': {}", pass, entry, problem));
}

// `find_difference` tells in what the steps take and give something else than the graph.
template <typename FindDifference>
void PassRunner::check(const char* pass, const PartitionedEntry& steps,
                       FindDifference find_difference) const {
  verify(pass, steps.entry.name, [&] {
    const std::string problem = problem_of(find_structure_fault(steps, program_.mesh()));
    return problem.empty() ? find_difference() : problem;
  });
  dump(pass, steps.entry);
}

template <typename Text>
void PassRunner::dump(const char* pass, const std::string& entry, Text text) const {
  if (options_.dump_graph && options_.dump_after == pass) options_.dump_graph(entry, text());
}

void PassRunner::dump(const char* pass, const EntryPoint& entry) const {
  if (options_.dump_steps && options_.dump_after == pass) options_.dump_steps(program_, entry);
}

const std::vector<std::string>& pass_names() {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> names;
    for (const GraphPass& pass : kExpansions) names.push_back(pass.name);
    for (const GraphPass& pass : kSimplifications) names.push_back(pass.name);
    names.emplace_back(kRecompute);
    names.emplace_back(kRegather);
    names.emplace_back(kChoosePlan);
    names.emplace_back(kLowerLoops);
    names.push_back(kPartition.name);
    for (const StepsPass& pass : kStepsPasses) names.push_back(pass.name);
    names.push_back(kAssignBuffers);
    return names;
  }();
  return kNames;
}

}  // namespace mtfc
