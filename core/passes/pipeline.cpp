#include "core/passes/pipeline.h"

#include <algorithm>
#include <chrono>

#include "core/diagnostics/suggest.h"
#include "core/model/entry_points.h"
#include "core/model/size_limits.h"
#include "core/passes/graph/expand_composites.h"
#include "core/passes/graph/expand_gradients.h"
#include "core/passes/graph/order_contractions.h"
#include "core/passes/graph/remove_dead.h"
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

namespace mtfc {
namespace {

int64_t aligned(int64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

// One behind the other from `bytes` on, which then is where the last one ends.
std::vector<ProgramVariable> placed_variables(std::vector<VariableDecl> all, const Layout& layout,
                                              const StateSplit& split, int64_t& bytes) {
  std::vector<ProgramVariable> variables;
  require_countable(all);
  for (VariableDecl& decl : all) {
    ProgramVariable variable{std::move(decl), {}, bytes, 0};
    variable.sharding = sharding_by_rules(layout, variable.decl.type.dims);
    for (AxisList& axes : variable.sharding.dims)
      std::erase_if(axes, [&](int axis) { return layout.mesh.size(axis) == 1; });
    if (variable.decl.optimizer_state)
      split_state(split, variable.decl.type.dims, layout.mesh, variable.sharding);
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
    const std::vector<TensorType> operands = graph.operand_types(node);
    flops += node.op->flops({node.attributes, operands}, graph.result_types(node));
  }
  return flops;
}

// Runs the passes over one entry point, timing each and dumping the one asked for.
class Pipeline {
 public:
  Pipeline(const Program& program, const StateSplit& split, const CompileOptions& options)
      : program_(program), layout_(program.layout), split_(split), options_(options) {}

  template <typename Work>
  auto timed(const std::string& pass, Work work) {
    const auto start = std::chrono::steady_clock::now();
    auto result = work();
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    if (options_.timed) options_.timed(name_, pass, seconds.count());
    return result;
  }

  /// The passes that do not look at the layout. Adds to `useful` what an unpartitioned run would multiply,
  /// but for what is in loops.
  EntryGraph arithmetic(EntryGraph entry, int64_t& useful) {
    name_ = entry.name;
    entry = pass("expand_composites", [&] { return expand_composites(entry); });
    // From here on every node is an operation, a leaf, a loop or `gradients`.
    entry = pass("expand_gradients", [&] { return expand_gradients(entry); });
    entry = pass("remove_dead", [&] { return remove_dead(entry); });
    entry = pass("simplify", [&] { return remove_dead(simplify(entry)); });
    entry = pass("order_contractions", [&] { return order_contractions(entry); });
    require_countable(entry);
    // The arithmetic is fixed: this is what an unpartitioned run would do.
    useful += einsum_flops(entry.graph);
    return entry;
  }

  /// All other passes, of an entry point as arithmetic() gives it. `caches` follow the variables, which end
  /// at `bytes`.
  EntryPoint run(const EntryGraph& entry, int64_t useful, int64_t bytes,
                 std::vector<VariableDecl> caches = {}) {
    name_ = entry.name;
    std::vector<ProgramVariable> placed = placed_variables(std::move(caches), layout_, split_, bytes);
    variables_ = program_.variables;
    variables_.insert(variables_.end(), placed.begin(), placed.end());
    PartitionedEntry scheduled = steps_of(entry, useful);
    EntryPoint result = timed("assign_buffers", [&] {
      return assign_buffers(std::move(scheduled), variables_, bytes, layout_.mesh);
    });
    result.useful_einsum_flops = useful;
    result.caches = std::move(placed);
    dump("assign_buffers", result);
    return result;
  }

 private:
  // The passes up to the last one, which sees the whole of an entry point, with the steps of its loops. Adds
  // the arithmetic of these to `useful`.
  PartitionedEntry steps_of(const EntryGraph& whole, int64_t& useful) {
    const EntryGraph entry = pass("apply_split_rules", [&] {
      return remove_dead(apply_split_rules(whole, resolve_shardings(whole, layout_, split_), layout_.mesh));
    });
    const std::vector<Sharding> shardings = resolve_shardings(entry, layout_, split_);
    std::vector<Strategy> strategies =
        timed("choose_strategies", [&] { return choose_strategies(entry, shardings, layout_.mesh); });
    const std::vector<LoopSteps> loops = loops_of(entry, useful);
    take_sums(entry.graph, loops, strategies);
    const std::vector<std::vector<Carry>> carries = timed(
        "place_reductions", [&] { return place_reductions(entry, strategies, shardings, layout_.mesh); });
    // From here on there are only steps on local values.
    PartitionedEntry partitioned = timed("partition", [&] {
      return partition(entry, shardings, strategies, carries, variables_, layout_.mesh);
    });
    dump("partition", partitioned.entry);
    partitioned =
        timed("fuse", [&] { return fuse(std::move(partitioned), options_.keep_all, layout_.mesh); });
    // From here on some values live within one step, and have no place in memory.
    dump("fuse", partitioned.entry);
    partitioned = timed("schedule", [&] { return schedule(std::move(partitioned), layout_.mesh); });
    partitioned = inline_loops(std::move(partitioned), loops);
    dump("schedule", partitioned.entry);
    return partitioned;
  }

  std::vector<LoopSteps> loops_of(const EntryGraph& entry, int64_t& useful) {
    std::vector<LoopSteps> loops;
    for (const Node& node : entry.graph.nodes()) {
      if (!node.loop) continue;
      const GraphLoop& loop = *node.loop;
      const auto part = [&](const LoopPart& part, int64_t times, size_t sums) {
        EntryGraph inner{entry.name, part.graph, {}, {}, sums};
        for (const TensorId id : part.results) inner.outputs.push_back({part.graph.tensor(id).name, id});
        int64_t flops = 0;
        const EntryGraph fixed = arithmetic(std::move(inner), flops);
        PartitionedEntry steps = steps_of(fixed, flops);
        useful += flops * std::max<int64_t>(times, 1);
        return steps;
      };
      loops.push_back(
          {part(loop.condition, 1, 0), part(loop.body, loop.times, loop.sums), loop.times, loop.sums});
    }
    return loops;
  }

  // What loops add up is split, and partial, as their bodies give it.
  static void take_sums(const Graph& graph, const std::vector<LoopSteps>& loops,
                        std::vector<Strategy>& strategies) {
    size_t loop = 0;
    for (size_t n = 0; n < graph.nodes().size(); ++n) {
      if (!graph.nodes()[n].loop) continue;
      const LoopSteps& steps = loops[loop++];
      const EntryPoint& body = steps.body.entry;
      for (size_t i = body.outputs.size() - steps.sums; i < body.outputs.size(); ++i)
        strategies[n].results[i] = body.values[static_cast<size_t>(body.outputs[i].value)].sharding;
    }
  }

  template <typename Work>
  EntryGraph pass(const std::string& pass, Work work) {
    EntryGraph result = timed(pass, work);
    if (options_.dump_graph && options_.dump_after == pass) options_.dump_graph(name_, result.graph);
    return result;
  }

  void dump(const std::string& pass, const EntryPoint& entry) {
    if (options_.dump_steps && options_.dump_after == pass) options_.dump_steps(program_, entry);
  }

  const Program& program_;
  const Layout& layout_;
  const StateSplit& split_;
  const CompileOptions& options_;
  std::string name_;
  std::vector<ProgramVariable> variables_;  // of the program, and after them caches
};

void check_kept(const CompileOptions& options, const std::vector<EntryGraph>& entries) {
  std::vector<Diagnostic> diagnostics;
  for (const std::string& name : options.keep) {
    std::vector<std::string> known;
    for (const EntryGraph& entry : entries) {
      for (const Tensor& tensor : entry.graph.tensors())
        if (tensor.from_model) known.push_back(tensor.name);
      for (const auto& alias : entry.graph.aliases()) known.push_back(alias.first);
    }
    if (std::find(known.begin(), known.end(), name) == known.end())
      diagnostics.push_back({{}, "the model has no tensor '" + name + "'", did_you_mean(name, known)});
  }
  if (!diagnostics.empty()) throw UserError(diagnostics);
}

// What the counts of a report can't know.
void warn_of_open_loops(Program& program) {
  for (const EntryPoint& entry : program.entry_points)
    for (const Step& step : entry.steps) {
      if (step.kind != StepKind::kLoop || step.times > 0) continue;
      const std::string warning = "the loop that makes '" + step.name +
                                  "' runs for as long as its condition holds; one round of it is counted";
      std::vector<std::string>& known = program.warnings;
      if (std::find(known.begin(), known.end(), warning) == known.end()) known.push_back(warning);
    }
}

}  // namespace

const std::vector<std::string>& pass_names() {
  static const std::vector<std::string> kNames = {
      "expand_composites", "expand_gradients", "remove_dead", "simplify", "order_contractions",
      "apply_split_rules", "partition",        "fuse",        "schedule", "assign_buffers"};
  return kNames;
}

namespace {

// Without entry points. The variables end at `bytes`.
Program frame_of(const Model& model, const Layout& layout, const StateSplit& split, int64_t& bytes) {
  Program program;
  program.model = model.name;
  program.layout = layout;
  program.names = model.params;
  for (const Dim& dim : model.dims) program.names[dim.name] = static_cast<double>(dim.size);
  program.inputs = model.inputs;
  program.variables = placed_variables(all_variables(model), layout, split, bytes);
  return program;
}

bool decodes(const Model& model, const CompileOptions& options) {
  return options.decode && model.decode;
}

std::vector<EntryGraph> entries_of(const Model& model, const CompileOptions& options) {
  std::vector<EntryGraph> entries;
  entries.push_back(init_entry(all_variables(model)));
  if (has_train_entry(model)) entries.push_back(train_entry(model, options.keep));
  entries.push_back(evaluate_entry(model, options.keep));
  if (decodes(model, options)) entries.push_back(decode_entry(model, options.keep));
  return entries;
}

std::vector<VariableDecl> caches_of(const Model& model, const EntryGraph& entry) {
  return entry.name == "decode" ? model.decode->caches : std::vector<VariableDecl>{};
}

}  // namespace

Program compile(const Model& model, const Layout& layout, const CompileOptions& options) {
  check_layout(model, layout, options.allow_uneven, decodes(model, options));
  const StateSplit split = state_split(model, layout, options.allow_uneven);
  int64_t bytes = 0;
  Program program = frame_of(model, layout, split, bytes);
  const std::vector<EntryGraph> entries = entries_of(model, options);
  check_kept(options, entries);
  Pipeline pipeline(program, split, options);
  for (const EntryGraph& entry : entries) {
    int64_t useful = 0;
    const EntryGraph arithmetic = pipeline.arithmetic(entry, useful);
    program.entry_points.push_back(pipeline.run(arithmetic, useful, bytes, caches_of(model, entry)));
  }
  warn_of_open_loops(program);
  return program;
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
  for (EntryGraph& entry : entries_of(model, options_)) {
    int64_t useful = 0;
    EntryGraph arithmetic = pipeline.arithmetic(std::move(entry), useful);
    entries_.push_back({std::move(arithmetic), useful});
  }
}

PreparedModel::~PreparedModel() = default;

Program PreparedModel::compile(const Layout& layout, const std::vector<std::string>& names) const {
  check_layout(model_, layout, options_.allow_uneven, decodes(model_, options_));
  const StateSplit split = state_split(model_, layout, options_.allow_uneven);
  int64_t bytes = 0;
  Program program = frame_of(model_, layout, split, bytes);
  Pipeline pipeline(program, split, options_);
  for (const Entry& entry : entries_) {
    const std::string& name = entry.graph.name;
    if (names.empty() || std::find(names.begin(), names.end(), name) != names.end())
      program.entry_points.push_back(
          pipeline.run(entry.graph, entry.useful, bytes, caches_of(model_, entry.graph)));
  }
  warn_of_open_loops(program);
  return program;
}

}  // namespace mtfc
