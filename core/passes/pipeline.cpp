#include "core/passes/pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <new>
#include <span>

#include "core/choice/choose_plan.h"
#include "core/choice/node_options.h"
#include "core/diagnostics/suggest.h"
#include "core/graph/expand_composites.h"
#include "core/graph/graph_check.h"
#include "core/model/annotations.h"
#include "core/model/entry_points.h"
#include "core/model/size_limits.h"
#include "core/passes/graph/expand_gradients.h"
#include "core/passes/graph/order_contractions.h"
#include "core/passes/graph/remove_dead.h"
#include "core/passes/graph/share_common.h"
#include "core/passes/graph/simplify.h"
#include "core/passes/steps/apply_split_rules.h"
#include "core/passes/steps/assign_buffers.h"
#include "core/passes/steps/choose_strategies.h"
#include "core/passes/steps/fuse.h"
#include "core/passes/steps/inline_loops.h"
#include "core/passes/steps/partition.h"
#include "core/passes/steps/place_reductions.h"
#include "core/passes/steps/resolve_shardings.h"
#include "core/passes/steps/schedule.h"
#include "core/passes/steps/steps_interface.h"
#include "core/program/program_check.h"

namespace mtfc {
namespace {

using VariableShardings = std::function<Sharding(const VariableDecl&)>;

VariableShardings shardings_by_rules(const Layout& layout, const StateSplit& split) {
  return [&](const VariableDecl& variable) {
    const Dims& dims = variable.type.dims;
    Sharding sharding = legal_sharding_by_rules(layout, dims);
    if (variable.optimizer_state) split_state(split, dims, layout.mesh, sharding);
    return sharding;
  };
}

// One behind the other from `bytes` on, which then is where the last one ends.
std::vector<ProgramVariable> placed_variables(std::vector<VariableDecl> all, const Layout& layout,
                                              const VariableShardings& shardings, int64_t& bytes) {
  std::vector<ProgramVariable> variables;
  require_countable(all);
  for (VariableDecl& decl : all) {
    ProgramVariable variable{std::move(decl), {}, bytes, 0};
    variable.sharding = shardings(variable.decl);
    variable.bytes = elements(largest_dims(variable.decl.type.dims, variable.sharding, layout.mesh)) *
                     size_of(variable.decl.type.dtype);
    bytes += aligned(variable.bytes);
    variables.push_back(std::move(variable));
  }
  return variables;
}

int64_t einsum_flops(const Graph& graph) {
  int64_t flops = 0;
  for (const Node& node : graph.nodes()) {
    if (node.kind != NodeKind::kOp || node.op->family != Family::kContraction) continue;
    flops += node.op->flops({node.attributes, held_whole(graph.operand_types(node))},
                            held_whole(graph.result_types(node)));
  }
  return flops;
}

// The context of a pass: everything that it reads apart from the entry point.
struct PassContext {
  const Layout& layout;
  const StateSplit& split;
  const CompileOptions& options;
  const std::vector<ProgramVariable>& variables;  // of the program, and after them the entry point's caches
  std::function<PartitionedEntry(EntryGraph, int64_t times)> lower_part;  // steps of a part of a loop
  std::function<PartitionedEntry(ShardedEntry)> lower_planned;            // the same, of a chosen plan

  const Mesh& mesh() const { return layout.mesh; }
};

// `entry`, `name`: of the entry point and of what the loop makes, for what is dumped on the way.
LoopSteps lowered(const GraphLoop& loop, const std::string& entry, const std::string& name,
                  const PassContext& context) {
  const auto lower = [&](const LoopPart& part, const std::string& what, int64_t times, size_t sums) {
    return context.lower_part(entry_of(part, entry + ", " + what, sums), times);
  };
  return {lower(loop.condition, "condition of " + name, 1, 0),
          lower(loop.body, "body of " + name, loop.times, loop.sums), loop.times, loop.sums};
}

// Lowers the loops of the graph by the same passes, on their own. What loops add up is then split, and
// partial, as their bodies give it.
ShardedEntry lower_loops(ShardedEntry sharded, const PassContext& context) {
  const Nodes& nodes = sharded.entry.graph.nodes();
  std::vector<ShardedEntry> parts = std::exchange(sharded.parts, {});
  size_t part = 0;
  for (size_t n = 0; n < nodes.size(); ++n) {
    if (!nodes[n].loop) continue;
    LoopSteps loop;
    if (sharded.is_planned()) {
      loop = {context.lower_planned(std::move(parts[part])),
              context.lower_planned(std::move(parts[part + 1])), nodes[n].loop->times, nodes[n].loop->sums};
      part += 2;
    } else {
      loop = lowered(*nodes[n].loop, sharded.entry.name, sharded.entry.graph.tensor(nodes[n].results[0]).name,
                     context);
    }
    const EntryPoint& body = loop.body.entry;
    for (size_t i = body.outputs.size() - loop.sums; i < body.outputs.size(); ++i)
      sharded.strategies[n].results[i] = body.values[body.outputs[i].value].sharding;
    sharded.loops.push_back(loop);
  }
  return sharded;
}

// The passes, in order. A pass is a row: its name, and the function that makes one value from another. Each
// row is timed, verified and dumped in the same way.

struct GraphPass {
  const char* name;
  EntryGraph (*run)(EntryGraph);
  bool keeps_gradients = false;  // gradients are to be expanded after it
};
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

struct ShardingPass {
  const char* name;
  ShardedEntry (*run)(ShardedEntry, const PassContext&);
};
constexpr const char* kChoosePlan = "choose_plan";
// These passes decide by rules alone. Otherwise, choose_plan decides all of it at once, and only loops remain.
constexpr ShardingPass kLowerLoops = {"lower_loops", lower_loops};
constexpr ShardingPass kShardingPasses[] = {
    {"resolve_shardings",
     [](ShardedEntry sharded, const PassContext& context) {
       return resolve_shardings(std::move(sharded.entry), context.layout, context.split);
     }},
    {"apply_split_rules",
     [](ShardedEntry sharded, const PassContext& context) {
       std::optional<EntryGraph> split = apply_split_rules(sharded, context.mesh());
       if (!split) return sharded;
       return resolve_shardings(remove_dead(*std::move(split)), context.layout, context.split);
     }},
    // From here on the graph stays as it is, and each pass adds to what is known of it.
    {"choose_strategies",
     [](ShardedEntry sharded, const PassContext& context) {
       return choose_strategies(std::move(sharded), context.mesh());
     }},
    kLowerLoops,
    {"place_reductions",
     [](ShardedEntry sharded, const PassContext& context) {
       return place_reductions(std::move(sharded), context.mesh());
     }},
};

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
    {"fuse",
     [](PartitionedEntry partitioned, const PassContext& context) {
       return fuse(std::move(partitioned), context.options.keep_all, context.mesh());
     }},
    // From here on some values live within one step, and get no place in memory.
    {"schedule", [](PartitionedEntry partitioned,
                    const PassContext& context) { return schedule(std::move(partitioned), context.mesh()); }},
    {"inline_loops",
     [](PartitionedEntry partitioned, const PassContext&) { return inline_loops(std::move(partitioned)); }},
};

constexpr const char* kAssignBuffers = "assign_buffers";

// A pass has failed, or has made something faulty. The message names the pass.
struct PassFault : InternalError {
  using InternalError::InternalError;
};

// Runs the passes over one entry point: times each, verifies what it has made, and dumps what is asked for.
class Pipeline {
 public:
  Pipeline(const Program& program, const StateSplit& split, const CompileOptions& options)
      : program_(program), split_(split), options_(options) {}

  /// The passes that do not look at the layout. Adds to `useful` what an unpartitioned run would multiply,
  /// but for what is in loops.
  EntryGraph lower_graph(EntryGraph entry, int64_t& useful) {
    timed_as_ = entry.name;
    return simplified(std::move(entry), useful);
  }

  /// Finds the mistakes that these passes find, in the loops of the entry point as well.
  void check_graph(EntryGraph entry) {
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

  /// All other passes, of an entry point as lower_graph() gives it. `caches` follow the variables, which end
  /// at `bytes`.
  EntryPoint lower_steps(EntryGraph entry, int64_t useful, int64_t bytes,
                         std::vector<VariableDecl> caches = {}) {
    timed_as_ = entry.name;
    std::vector<ProgramVariable> placed = placed_variables(
        std::move(caches), program_.layout, shardings_by_rules(program_.layout, split_), bytes);
    const std::vector<ProgramVariable> variables = with_caches(placed);
    PartitionedEntry steps = steps_of(std::move(entry), variables, useful);
    return finished(std::move(steps), variables, std::move(placed), useful, bytes);
  }

  /// Chooses the plan of an entry point as lower_graph() gives it, with its loops. `variables`: the shardings that are
  /// decided already. Adds to `useful` what the loops multiply.
  ChosenPlan choose(EntryGraph entry, const std::map<std::string, Sharding, std::less<>>& variables,
                    int64_t& useful) {
    timed_as_ = entry.name;
    entry.graph = with_lowered_loops(std::move(entry.graph), entry.name, 1, useful);
    return timed(kChoosePlan, [&] {
      return choose_plan(std::move(entry), {program_.layout, split_, variables, true});
    });
  }

  /// All other passes, of a chosen plan.
  EntryPoint lower_plan(ChosenPlan plan, int64_t useful, int64_t bytes, std::vector<VariableDecl> caches) {
    timed_as_ = plan.entry.entry.name;
    const auto decided = [&](const VariableDecl& cache) {
      const auto at = plan.variables.find(cache.name);
      return at != plan.variables.end() ? at->second : replicated(cache.type.dims.size());
    };
    std::vector<ProgramVariable> placed =
        placed_variables(std::move(caches), program_.layout, decided, bytes);
    const std::vector<ProgramVariable> variables = with_caches(placed);
    const PlanFigures figures{plan.cost.total / kCostPerByte, plan.bound.total / kCostPerByte};
    PartitionedEntry steps = planned_steps(std::move(plan.entry), variables);
    EntryPoint made = finished(std::move(steps), variables, std::move(placed), useful, bytes);
    made.plan = figures;
    return made;
  }

 private:
  std::vector<ProgramVariable> with_caches(const std::vector<ProgramVariable>& caches) const {
    std::vector<ProgramVariable> variables = program_.variables;
    variables.insert(variables.end(), caches.begin(), caches.end());
    return variables;
  }

  EntryPoint finished(PartitionedEntry steps, const std::vector<ProgramVariable>& variables,
                      std::vector<ProgramVariable> caches, int64_t useful, int64_t bytes) {
    EntryPoint result = timed(
        kAssignBuffers, [&] { return assign_buffers(std::move(steps), variables, bytes, program_.mesh()); });
    result.useful_einsum_flops = useful;
    result.caches = std::move(caches);
    verify(kAssignBuffers, timed_as_, [&] { return problem_of(find_entry_fault(program_, result)); });
    dump(kAssignBuffers, result);
    return result;
  }

  // The graph with the parts of its loops after the passes over graphs, and the parts of the loops in these.
  Graph with_lowered_loops(Graph graph, const std::string& entry, int64_t times, int64_t& useful) {
    const auto lowered_part = [&](const LoopPart& part, size_t sums, int64_t rounds) {
      int64_t flops = 0;
      EntryGraph made = simplified(entry_of(part, entry, sums), flops);
      useful += flops * rounds;
      made.graph = with_lowered_loops(std::move(made.graph), entry, rounds, useful);
      LoopPart lowered_to{std::move(made.graph), {}};
      for (const NamedTensor& output : made.outputs) lowered_to.results.push_back(output.tensor);
      return lowered_to;
    };
    return with_annotations(
        std::move(graph), [](const Tensor&) { return SharedAnnotation(); },
        [&](const GraphLoop& loop) {
          const int64_t rounds = times * std::max<int64_t>(loop.times, 1);
          return GraphLoop{lowered_part(loop.condition, 0, rounds),
                           lowered_part(loop.body, loop.sums, rounds), loop.times, loop.sums};
        });
  }

  // The steps of a chosen plan.
  PartitionedEntry planned_steps(ShardedEntry plan, const std::vector<ProgramVariable>& variables) {
    const auto lower_planned = [&](ShardedEntry part) { return planned_steps(std::move(part), variables); };
    const PassContext context{program_.layout, split_, options_, variables, {}, lower_planned};
    verify_sharded(kChoosePlan, plan, context);
    plan = timed(kLowerLoops.name, [&] { return kLowerLoops.run(std::move(plan), context); });
    verify_sharded(kLowerLoops.name, plan, context);
    return partitioned(plan, context);
  }

  void verify_sharded(const char* pass, const ShardedEntry& sharded, const PassContext& context) const {
    verify(pass, sharded.entry.name, [&] {
      std::string problem = graph_problem(sharded.entry);
      if (problem.empty()) problem = sharding_problem(sharded, context.mesh());
      return problem.empty() ? storage_problem(sharded, context.variables, context.mesh()) : problem;
    });
    dump(pass, sharded.entry.name, [&] { return to_string(sharded, context.mesh()); });
  }

  // The passes over graphs, of an entry point or of a part of a loop.
  EntryGraph simplified(EntryGraph entry, int64_t& useful) {
    entry = run_graph_passes(run_graph_passes(std::move(entry), kExpansions), kSimplifications);
    require_countable(entry);
    useful += einsum_flops(entry.graph);
    return entry;
  }

  EntryGraph run_graph_passes(EntryGraph entry, std::span<const GraphPass> passes) {
    for (const GraphPass& pass : passes) {
      const EntryGraph before = options_.verify ? entry : EntryGraph{};
      entry = timed(pass.name, [&] { return pass.run(std::move(entry)); });
      verify(pass.name, entry.name, [&] {
        std::string problem = graph_problem(entry);
        if (problem.empty()) problem = expansion_problem(entry.graph, pass.keeps_gradients);
        return problem.empty() ? difference_of_interface(before, entry) : problem;
      });
      dump(pass.name, entry.name, [&] { return to_string(entry.graph); });
    }
    return entry;
  }

  // The passes up to `assign_buffers`, which sees the whole of an entry point with the steps of its loops.
  // Adds the arithmetic of these to `useful`.
  PartitionedEntry steps_of(EntryGraph entry, const std::vector<ProgramVariable>& variables,
                            int64_t& useful) {
    const auto lower_part = [&](EntryGraph part, int64_t times) {
      int64_t flops = 0;
      EntryGraph graph = simplified(std::move(part), flops);
      PartitionedEntry steps = steps_of(std::move(graph), variables, flops);
      useful += flops * std::max<int64_t>(times, 1);
      return steps;
    };
    const PassContext context{program_.layout, split_, options_, variables, lower_part, {}};
    ShardedEntry sharded{std::move(entry)};
    for (const ShardingPass& pass : kShardingPasses) {
      sharded = timed(pass.name, [&] { return pass.run(std::move(sharded), context); });
      verify_sharded(pass.name, sharded, context);
    }
    return partitioned(sharded, context);
  }

  PartitionedEntry partitioned(const ShardedEntry& sharded, const PassContext& context) {
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
  auto timed(const char* pass, Work work) -> decltype(work()) {
    const auto start = std::chrono::steady_clock::now();
    auto result = blamed(pass, work);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    if (options_.timed) options_.timed(timed_as_, pass, seconds.count());
    return result;
  }

  // Runs the work of a pass. Where passes are verified, an invariant that breaks in it names the pass.
  template <typename Work>
  auto blamed(const char* pass, Work work) const -> decltype(work()) {
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

  static std::string problem_of(const std::optional<ProgramFault>& fault) {
    return fault ? fmt::format("{}: {}", fault->pointer, fault->what()) : "";
  }

  // `find_problem` gives what is wrong with what the pass has made, "" for nothing.
  template <typename FindProblem>
  void verify(const char* pass, const std::string& entry, FindProblem find_problem) const {
    if (!options_.verify) return;
    if (const std::string problem = find_problem(); !problem.empty())
      throw PassFault(fmt::format("the pass '{}' has made a faulty '{}': {}", pass, entry, problem));
  }

  // `find_difference` tells in what the steps take and give something else than the graph.
  template <typename FindDifference>
  void check(const char* pass, const PartitionedEntry& steps, FindDifference find_difference) const {
    verify(pass, steps.entry.name, [&] {
      const std::string problem = problem_of(find_structure_fault(steps, program_.mesh()));
      return problem.empty() ? find_difference() : problem;
    });
    dump(pass, steps.entry);
  }

  template <typename Text>
  void dump(const char* pass, const std::string& entry, Text text) const {
    if (options_.dump_graph && options_.dump_after == pass) options_.dump_graph(entry, text());
  }
  void dump(const char* pass, const EntryPoint& entry) const {
    if (options_.dump_steps && options_.dump_after == pass) options_.dump_steps(program_, entry);
  }

  const Program& program_;
  const StateSplit& split_;
  const CompileOptions& options_;
  std::string timed_as_;  // the entry point whose passes are timed
};

bool decodes(const Model& model, const CompileOptions& options) {
  return options.decode && model.decode;
}

// Makes an entry point when it is its turn: each may be larger than the model.
using MakeEntry = std::function<EntryGraph()>;
std::vector<MakeEntry> entries_of(const Model& model, const CompileOptions& options) {
  std::vector<MakeEntry> entries = {[&] { return init_entry(all_variables(model)); }};
  if (has_train_entry(model)) entries.push_back([&] { return train_entry(model, options.keep); });
  entries.push_back([&] { return evaluate_entry(model, options.keep); });
  if (decodes(model, options)) entries.push_back([&] { return decode_entry(model, options.keep); });
  return entries;
}

void check_kept(const CompileOptions& options, const std::vector<MakeEntry>& entries) {
  if (options.keep.empty()) return;
  std::vector<std::string> known;
  for (const MakeEntry& make : entries) {
    const EntryGraph entry = make();
    for (const Tensor& tensor : entry.graph.tensors())
      if (tensor.from_model) known.push_back(tensor.name);
    for (const auto& alias : entry.graph.aliases()) known.push_back(alias.first);
  }
  std::vector<Diagnostic> diagnostics;
  for (const std::string& name : options.keep) {
    if (std::find(known.begin(), known.end(), name) == known.end())
      diagnostics.push_back({{}, "the model has no tensor '" + name + "'", did_you_mean(name, known)});
  }
  if (!diagnostics.empty()) throw UserError(diagnostics);
}

// Adds a warning for each loop whose number of rounds is known only at run time.
void warn_of_open_loops(Program& program) {
  for (const EntryPoint& entry : program.entry_points)
    for (const Step& step : entry.steps) {
      const auto* loop = step.as<BeginLoop>();
      if (!loop || loop->times > 0) continue;
      const std::string warning = "the loop that makes '" + step.name +
                                  "' runs for as long as its condition holds; one round of it is counted";
      std::vector<std::string>& known = program.warnings;
      if (std::find(known.begin(), known.end(), warning) == known.end()) known.push_back(warning);
    }
}

}  // namespace

const std::vector<std::string>& pass_names() {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> names;
    for (const GraphPass& pass : kExpansions) names.push_back(pass.name);
    for (const GraphPass& pass : kSimplifications) names.push_back(pass.name);
    names.emplace_back(kChoosePlan);
    for (const ShardingPass& pass : kShardingPasses) names.push_back(pass.name);
    names.push_back(kPartition.name);
    for (const StepsPass& pass : kStepsPasses) names.push_back(pass.name);
    names.push_back(kAssignBuffers);
    return names;
  }();
  return kNames;
}

bool verifies_by_default() {
#ifdef NDEBUG
  static const bool kVerifies = std::getenv("MTFC_VERIFY_PASSES") != nullptr;
  return kVerifies;
#else
  return true;
#endif
}

namespace {

// Without entry points. The variables end at `bytes`.
Program frame_of(const Model& model, const Layout& layout, const VariableShardings& shardings,
                 int64_t& bytes) {
  Program program;
  program.model = model.name;
  program.layout = layout;
  program.names = model.params;
  for (const Dim& dim : model.dims) program.names[dim.name] = static_cast<double>(dim.size);
  program.inputs = model.inputs;
  program.loss = loss_name(model);
  program.variables = placed_variables(all_variables(model), layout, shardings, bytes);
  return program;
}

std::vector<VariableDecl> caches_of(const Model& model, const std::string& entry) {
  return entry == "decode" ? model.decode->caches : std::vector<VariableDecl>{};
}

}  // namespace

namespace {

// The shardings of the variables that the layout fixes, of the model, its optimizer and its caches.
std::map<std::string, Sharding, std::less<>> fixed_variables(const Model& model, const Layout& layout,
                                                             const StateSplit& split,
                                                             const Annotations& annotations) {
  std::vector<VariableDecl> all = all_variables(model);
  if (model.decode) all.insert(all.end(), model.decode->caches.begin(), model.decode->caches.end());
  std::map<std::string, Sharding, std::less<>> fixed;
  for (const VariableDecl& variable : all) {
    const SharedAnnotation annotation = annotations.of_variable(variable.name);
    const bool is_split = split.names.contains(variable.name) && !split.axes.empty();
    if (annotation)
      fixed.emplace(variable.name, annotation->sharding);
    else if (!layout.propagate || has_rule(layout, variable.type.dims) || is_split)
      fixed.emplace(variable.name, shardings_by_rules(layout, split)(variable));
  }
  return fixed;
}

// Decides the plan of the training step, or else of the evaluation, which decides how variables are split everywhere.
Program compile_chosen(const Model& model, const Layout& layout, const StateSplit& split,
                       const Annotations& annotations, const CompileOptions& options) {
  const std::vector<MakeEntry> entries = entries_of(model, options);
  check_kept(options, entries);
  Program program;
  program.layout = layout;
  Pipeline pipeline(program, split, options);
  std::map<std::string, Sharding, std::less<>> variables = options.variables;
  variables.merge(fixed_variables(model, layout, split, annotations));
  const auto chosen = [&](const MakeEntry& make, int64_t& useful) {
    return pipeline.choose(pipeline.lower_graph(annotations.applied(make()), useful), variables, useful);
  };
  const bool only_decodes = model.is_reduced && decodes(model, options);
  const size_t deciding = only_decodes ? entries.size() - 1 : 1;  // that after `init`, or else the last one
  int64_t first_useful = 0;
  ChosenPlan first = chosen(entries[deciding], first_useful);
  variables.insert(first.variables.begin(), first.variables.end());
  const auto decided = [&](const VariableDecl& variable) {
    const auto at = variables.find(variable.name);
    return at != variables.end() ? at->second : shardings_by_rules(layout, split)(variable);
  };
  int64_t bytes = 0;
  program = frame_of(model, layout, decided, bytes);
  for (const ProgramVariable& variable : program.variables)
    variables.emplace(variable.decl.name, variable.sharding);
  for (size_t i = 0; i < entries.size(); ++i) {
    int64_t useful = first_useful;
    ChosenPlan plan = i == deciding ? std::move(first) : chosen(entries[i], useful = 0);
    std::vector<VariableDecl> caches = caches_of(model, plan.entry.entry.name);
    program.entry_points.push_back(pipeline.lower_plan(std::move(plan), useful, bytes, std::move(caches)));
  }
  warn_of_open_loops(program);
  return program;
}

}  // namespace

Program compile(const Model& model, const Layout& layout, const CompileOptions& options) {
  const Annotations annotations(model, layout);
  const bool is_planned = layout.propagate || !annotations.empty();
  check_layout(model, layout, annotations, options.allow_uneven, decodes(model, options));
  const StateSplit split = state_split(model, layout, options.allow_uneven);
  if (is_planned) return compile_chosen(model, layout, split, annotations, options);
  int64_t bytes = 0;
  Program program = frame_of(model, layout, shardings_by_rules(layout, split), bytes);
  const std::vector<MakeEntry> entries = entries_of(model, options);
  check_kept(options, entries);
  Pipeline pipeline(program, split, options);
  for (const MakeEntry& make : entries) {
    int64_t useful = 0;
    EntryGraph entry = pipeline.lower_graph(make(), useful);
    std::vector<VariableDecl> caches = caches_of(model, entry.name);
    program.entry_points.push_back(pipeline.lower_steps(std::move(entry), useful, bytes, std::move(caches)));
  }
  warn_of_open_loops(program);
  return program;
}

void check_compilable(const Model& model, const Layout& layout, const CompileOptions& options) {
  const Annotations annotations(model, layout);
  check_layout(model, layout, annotations, options.allow_uneven, decodes(model, options));
  const StateSplit split = state_split(model, layout, options.allow_uneven);
  require_countable(all_variables(model));
  const std::vector<MakeEntry> entries = entries_of(model, options);
  check_kept(options, entries);
  const Program nothing;
  Pipeline pipeline(nothing, split, options);
  for (const MakeEntry& make : entries) {
    EntryGraph entry = annotations.applied(make());
    const std::vector<VariableDecl> caches = caches_of(model, entry.name);
    pipeline.check_graph(std::move(entry));
    require_countable(caches);
  }
}

struct PreparedModel::Entry {
  EntryGraph graph;
  int64_t useful = 0;
};

PreparedModel::PreparedModel(const Model& model, const CompileOptions& options)
    : model_(model), options_(options) {
  const Program nothing;
  const StateSplit whole;
  Pipeline pipeline(nothing, whole, options_);
  for (const MakeEntry& make : entries_of(model, options_)) {
    int64_t useful = 0;
    EntryGraph arithmetic = pipeline.lower_graph(make(), useful);
    entries_.push_back({std::move(arithmetic), useful});
  }
}

PreparedModel::~PreparedModel() = default;

std::vector<PreparedModel::Part> PreparedModel::parts(const std::string& name) const {
  const Program nothing;
  const StateSplit whole;
  CompileOptions quiet = options_;
  quiet.timed = nullptr;
  Pipeline pipeline(nothing, whole, quiet);
  std::vector<Part> parts;
  for (const Entry& entry : entries_)
    if (entry.graph.name == name) parts.push_back({entry.graph, 1});
  for (size_t p = 0; p < parts.size(); ++p) {
    const Nodes nodes = parts[p].graph.graph.nodes();
    const int64_t outer = parts[p].times;
    for (const Node& node : nodes) {
      if (!node.loop) continue;
      const int64_t times = std::max<int64_t>(node.loop->times, 1);
      for (const LoopPart* part : {&node.loop->condition, &node.loop->body}) {
        EntryGraph inner{name, part->graph, {}, {}, part == &node.loop->body ? node.loop->sums : 0};
        for (const TensorId id : part->results) inner.outputs.push_back({part->graph.tensor(id).name, id});
        int64_t unused = 0;
        parts.push_back({pipeline.lower_graph(std::move(inner), unused), outer * times});
      }
    }
  }
  return parts;
}

Program PreparedModel::compile(const Layout& layout, const std::vector<std::string>& names) const {
  check_layout(model_, layout, {}, options_.allow_uneven, decodes(model_, options_));
  const StateSplit split = state_split(model_, layout, options_.allow_uneven);
  int64_t bytes = 0;
  Program program = frame_of(model_, layout, shardings_by_rules(layout, split), bytes);
  Pipeline pipeline(program, split, options_);
  for (const Entry& entry : entries_) {
    const std::string& name = entry.graph.name;
    if (names.empty() || std::find(names.begin(), names.end(), name) != names.end())
      program.entry_points.push_back(
          pipeline.lower_steps(entry.graph, entry.useful, bytes, caches_of(model_, entry.graph.name)));
  }
  warn_of_open_loops(program);
  return program;
}

}  // namespace mtfc
