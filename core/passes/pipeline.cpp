#include "core/passes/pipeline.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <utility>

#include "core/cost/cost.h"
#include "core/diagnostics/suggest.h"
#include "core/model/annotations.h"
#include "core/model/entry_points.h"
#include "core/model/size_limits.h"
#include "core/passes/pass_runner.h"
#include "core/passes/steps/resolve_shardings.h"
#include "core/passes/variable_placement.h"

namespace mtfc {
namespace {

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
  program.variables = placed_variables(all_variables(model), layout.mesh, shardings, bytes);
  return program;
}

std::vector<VariableDecl> caches_of(const Model& model, const std::string& entry) {
  return entry == "decode" ? model.decode->caches : std::vector<VariableDecl>{};
}

// Decides the plan of the training step, or else of the evaluation, which decides how variables are split everywhere.
Program compile_chosen(const Model& model, const Layout& layout, const StateSplit& split,
                       const Annotations& annotations, const CompileOptions& options,
                       const PlanHardware& hardware) {
  const std::vector<MakeEntry> entries = entries_of(model, options);
  check_kept(options, entries);
  Program program;
  program.layout = layout;
  PassRunner passes(program, split, options);
  std::map<std::string, Sharding, std::less<>> variables = options.variables;
  variables.merge(fixed_variables(model, layout, split, annotations));
  const auto chosen = [&](const MakeEntry& make, int64_t& useful) {
    return passes.choose(passes.lower_graph(annotations.applied(make()), useful), variables, hardware,
                         useful);
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
    int64_t useful = i == deciding ? first_useful : 0;
    ChosenPlan plan = i == deciding ? std::move(first) : chosen(entries[i], useful);
    std::vector<VariableDecl> caches = caches_of(model, plan.entry.entry.name);
    program.entry_points.push_back(passes.lower_plan(std::move(plan), useful, bytes, std::move(caches)));
  }
  warn_of_open_loops(program);
  return program;
}

}  // namespace

namespace {

// The predicted seconds of the entry point that decides how variables are split.
double deciding_seconds(const Program& program, const Hardware& hardware) {
  for (const char* name : {"train", "evaluate", "decode"})
    if (const EntryPoint* entry = program.find(name))
      return predicted_time(program, *entry, predicted_counts(program, *entry), hardware).step_s;
  return 0;
}

// The plan of least cost. With hardware, plans are also chosen by predicted times, for two guesses of what kernels hide of
// the collectives that only updates of weights wait for; of all these, the one with the shortest predicted step is taken.
Program compile_planned(const Model& model, const Layout& layout, const StateSplit& split,
                        const Annotations& annotations, const CompileOptions& options) {
  const auto compiled = [&](const PlanHardware& hardware) {
    return compile_chosen(model, layout, split, annotations, options, hardware);
  };
  Program best = compiled({});
  if (!options.hardware) return best;
  double shortest = deciding_seconds(best, *options.hardware);
  for (const double hidden : {0.0, 0.9}) {
    Program timed = compiled({options.hardware, hidden});
    const double seconds = deciding_seconds(timed, *options.hardware);
    if (seconds >= shortest) continue;
    shortest = seconds;
    best = std::move(timed);
  }
  return best;
}

}  // namespace

Program compile(const Model& model, const Layout& layout, const CompileOptions& options) {
  const Annotations annotations(model, layout);
  const bool is_planned = layout.propagate || !annotations.empty();
  check_layout(model, layout, annotations, options.allow_uneven, decodes(model, options));
  const StateSplit split = state_split(model, layout, options.allow_uneven);
  if (is_planned) return compile_planned(model, layout, split, annotations, options);
  int64_t bytes = 0;
  Program program = frame_of(model, layout, shardings_by_rules(layout, split), bytes);
  const std::vector<MakeEntry> entries = entries_of(model, options);
  check_kept(options, entries);
  PassRunner passes(program, split, options);
  for (const MakeEntry& make : entries) {
    int64_t useful = 0;
    EntryGraph entry = passes.lower_graph(make(), useful);
    std::vector<VariableDecl> caches = caches_of(model, entry.name);
    program.entry_points.push_back(passes.lower_steps(std::move(entry), useful, bytes, std::move(caches)));
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
  PassRunner passes(nothing, split, options);
  for (const MakeEntry& make : entries) {
    EntryGraph entry = annotations.applied(make());
    const std::vector<VariableDecl> caches = caches_of(model, entry.name);
    passes.check_graph(std::move(entry));
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
  PassRunner passes(nothing, whole, options_);
  for (const MakeEntry& make : entries_of(model, options_)) {
    int64_t useful = 0;
    EntryGraph arithmetic = passes.lower_graph(make(), useful);
    entries_.push_back({std::move(arithmetic), useful});
  }
}

PreparedModel::~PreparedModel() = default;

std::vector<PreparedModel::Part> PreparedModel::parts(const std::string& name) const {
  const Program nothing;
  const StateSplit whole;
  CompileOptions quiet = options_;
  quiet.timed = nullptr;
  PassRunner passes(nothing, whole, quiet);
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
        EntryGraph inner = entry_of(*part, name, part == &node.loop->body ? node.loop->sums : 0);
        int64_t unused = 0;
        parts.push_back({passes.lower_graph(std::move(inner), unused), outer * times});
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
  PassRunner passes(program, split, options_);
  for (const Entry& entry : entries_) {
    const std::string& name = entry.graph.name;
    if (names.empty() || std::find(names.begin(), names.end(), name) != names.end())
      program.entry_points.push_back(
          passes.lower_steps(entry.graph, entry.useful, bytes, caches_of(model_, entry.graph.name)));
  }
  warn_of_open_loops(program);
  return program;
}

}  // namespace mtfc
