#include "core/compile/pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <mutex>
#include <utility>

#include "core/compile/pass_runner.h"
#include "core/compile/ring_choice.h"
#include "core/compile/ring_names.h"
#include "core/compile/variable_placement.h"
#include "core/cost/cost.h"
#include "core/diagnostics/parallel.h"
#include "core/diagnostics/suggest.h"
#include "core/model/annotations.h"
#include "core/model/check_layout.h"
#include "core/model/entry_points.h"
#include "core/model/size_limits.h"
#include "core/model/training.h"
#include "core/tensors/name_pattern.h"

namespace mtfc {
namespace {

bool decodes(const Model& model, const CompileOptions& options) {
  return options.decode && model.decode;
}

// The entry points of the model, in the order of a program. Each is made when it is its turn, since it may be larger
// than the model.
std::vector<std::string> entries_of(const Model& model, const CompileOptions& options) {
  std::vector<std::string> entries = {"init"};
  if (has_train_entry(model)) entries.push_back("train");
  entries.push_back("evaluate");
  if (decodes(model, options)) entries.push_back("decode");
  if (decodes(model, options) && has_encode_entry(model)) entries.push_back("encode");
  // A program has this entry point only where one asks for it by name.
  const std::vector<std::string>& wanted = options.entries;
  if (decodes(model, options) && std::find(wanted.begin(), wanted.end(), "prompt") != wanted.end())
    entries.push_back("prompt");
  return entries;
}

bool can_turn(const Node& node) {
  return node.kind == NodeKind::kOp && node.op->traits.can_turn && node.operands.size() == 2;
}

// A rule for rings that names no product of any entry point is a mistake, unless it is for all products.
void check_rings(const Model& model, const Layout& layout, const CompileOptions& options,
                 const RingNames& names) {
  CompileOptions quiet = options.unwatched();
  quiet.keep.clear();
  const PreparedModel prepared(model, quiet);
  std::vector<std::string> products;
  for (const std::string& entry : entries_of(model, options))
    for (const PreparedModel::Part& part : prepared.parts(entry))
      for (const Node& node : part.graph.graph.nodes())
        if (can_turn(node)) {
          const std::string& name = part.graph.graph.tensor(node.results[0]).name;
          products.push_back(name);
          for (const std::string& further : names.further(name)) products.push_back(further);
        }
  std::vector<Diagnostic> diagnostics;
  for (const RingRule& rule : layout.rings)
    if (rule.pattern != kEveryName &&
        std::none_of(products.begin(), products.end(),
                     [&](const std::string& name) { return matches_name(rule.pattern, name); }))
      diagnostics.push_back({rule.location,
                             fmt::format("'{}' matches no product of two tensors", rule.pattern),
                             did_you_mean(rule.pattern, products)});
  if (!diagnostics.empty()) throw UserError(diagnostics);
}

// The layout with the names of programs in its rules for rings. Throws UserError where a rule names no product.
Layout with_checked_rings(const Model& model, Layout layout, const CompileOptions& options) {
  if (layout.rings.empty()) return layout;
  RingNames names;
  for (const std::string& entry : entries_of(model, options)) names.add(declared_entry(model, entry).graph);
  check_rings(model, layout, options, names);
  layout.rings = names.resolved(layout);
  return layout;
}

// Warns of each product that is named in a rule for rings, but does not run in turns.
void warn_of_idle_rings(Program& program) {
  for (const RingRule& rule : program.layout.rings) {
    if (!rule.turns || is_name_pattern(rule.pattern)) continue;
    bool is_made = false, turns = false;
    for (const EntryPoint& entry : program.entry_points)
      for (const Step& step : entry.steps) {
        if (product_name(step.name) != rule.pattern) continue;
        is_made = is_made || step.multiplies();
        turns = turns || step.as<RunRing>();
      }
    if (is_made && !turns)
      program.warnings.push_back(fmt::format(
          "'{}' does not run in turns: either none of its operands is gathered for it along one "
          "dimension, and its result is not scattered, or both operands are one tensor, or the devices "
          "would add up copies of the same result",
          rule.pattern));
  }
}

bool is_wanted(const std::string& entry, const CompileOptions& options) {
  return options.entries.empty() ||
         std::find(options.entries.begin(), options.entries.end(), entry) != options.entries.end();
}

void check_kept(const Model& model, const CompileOptions& options, const std::vector<std::string>& entries) {
  if (options.keep.empty()) return;
  std::vector<std::string> known;
  for (const std::string& name : entries) {
    const EntryGraph entry = declared_entry(model, name, options.keep);
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
  program.weights = model.published.rules;
  if (model.train) program.learning_rate = learning_rate_of(*model.train);
  program.variables = placed_variables(all_variables(model), layout.mesh, shardings, bytes);
  return program;
}

// Checks the layout, and how it splits the state of the optimizer.
StateSplit checked_split(const Model& model, const Layout& layout, const Annotations& annotations,
                         const CompileOptions& options, const Plan& plan) {
  check_layout(model, layout, annotations, options.allow_uneven, decodes(model, options));
  StateSplit split = state_split(model, layout, plan.scatters_microbatches);
  if (!options.allow_uneven) check_even(split, model, layout, annotations);
  return split;
}

// Says how good a plan is whose choice has ended early.
std::string early_end_warning(const std::string& entry, const PlanFigures& plan) {
  const std::string gap =
      plan.bound > 0 ? fmt::format("its plan costs at most {:.3g} % more than the best", 100 * plan_gap(plan))
                     : "nothing is known of how much less another plan costs";
  return fmt::format("the time to choose a plan for {} has ended: {}", entry, gap);
}

// A model, the layout under which it is compiled, and what has been found out about both.
struct Compilation {
  const Model& model;
  const Layout& layout;
  const StateSplit& split;
  const Annotations& annotations;
  const Plan& plan;  // to which it keeps
  const PreparedModel& prepared;

  bool by_rules() const { return !is_planned(layout, annotations); }
};

// The entry point whose plan is chosen first. It decides how variables are split everywhere: the training step, or else
// the evaluation. By rules, which say how variables are split, it is the first after `init` that is wanted.
size_t deciding_index(const Compilation& compilation, const CompileOptions& options,
                      const std::vector<std::string>& entries) {
  const Model& model = compilation.model;
  const auto is_it = [&](const std::string& entry) {
    if (compilation.by_rules()) return entry != entries.front() && is_wanted(entry, options);
    return entry == (model.is_reduced && decodes(model, options) ? "decode" : entries[1]);
  };
  const auto at = std::find_if(entries.begin(), entries.end(), is_it);
  return static_cast<size_t>(at - entries.begin()) % entries.size();
}

// How plans are chosen, and that of the deciding entry point if it has been chosen already.
struct Choice {
  PlanWay way;
  std::optional<ChosenPlan> plan = {};
};

// The shardings of variables that are decided before any plan is chosen.
Shardings stated_variables(const Compilation& compilation) {
  Shardings variables = compilation.plan.variables;
  variables.merge(
      fixed_variables(compilation.model, compilation.layout, compilation.split, compilation.annotations));
  return variables;
}

// Chooses the plan of the deciding entry point. `shared`: what the ways to choose it have in common.
ChosenPlan deciding_plan(const Compilation& compilation, const CompileOptions& options,
                         const std::string& deciding, const PlanWay& way,
                         std::shared_ptr<const PlanSpace>& shared) {
  Program program;
  program.layout = compilation.layout;
  program.plan = compilation.plan;
  PassRunner passes(program, compilation.split, options, compilation.by_rules());
  return passes.choose(compilation.prepared.entry(deciding).graph, stated_variables(compilation),
                       {options.hardware, way}, nullptr, &shared);
}

// True if the plan of `entry`, decode, decides how the caches are split that encode fills.
bool decides_caches(const Compilation& compilation, const CompileOptions& options, const std::string& entry) {
  return entry == "decode" && has_encode_entry(compilation.model) && is_wanted("encode", options) &&
         !compilation.by_rules();
}

// Compiles with one plan for each entry point. If not all shardings of variables are stated, the plan of the deciding
// entry point is chosen first, unless `choice` has it, and decides them. `known`: the deciding entry point, if it has
// been compiled by that plan already.
Program compile_chosen(const Compilation& compilation, const CompileOptions& options, const Choice& choice,
                       std::optional<EntryPoint> known = std::nullopt) {
  const auto& [model, layout, split, annotations, plan, prepared] = compilation;
  const std::vector<std::string> entries = entries_of(model, options);
  Program program;
  program.layout = layout;
  program.plan = plan;
  PassRunner passes(program, split, options, compilation.by_rules());
  Shardings variables = stated_variables(compilation);
  std::vector<std::string> warnings;
  const auto chosen = [&](const std::string& name, const ChosenPlan* own) {
    ChosenPlan made =
        passes.choose(prepared.entry(name).graph, variables, {options.hardware, choice.way}, own);
    if (!made.is_complete) warnings.push_back(early_end_warning(name, figures_of(made)));
    return made;
  };
  const size_t deciding = deciding_index(compilation, options, entries);
  std::optional<ChosenPlan> first;
  if (!compilation.by_rules() || options.hardware) {
    first = chosen(entries[deciding], choice.plan ? &*choice.plan : nullptr);
    variables.insert(first->variables.begin(), first->variables.end());
  }
  const auto decided = [&](const VariableDecl& variable) {
    const auto at = variables.find(variable.name);
    return at != variables.end() ? at->second : shardings_by_rules(layout, split)(variable);
  };
  int64_t bytes = 0;
  program = frame_of(model, layout, decided, bytes);
  program.plan = plan;
  program.plan.way = choice.way;
  for (const ProgramVariable& variable : program.variables)
    variables.emplace(variable.decl.name, variable.sharding);
  for (size_t i = 0; i < entries.size(); ++i) {
    const bool decides_further = decides_caches(compilation, options, entries[i]);
    if (!is_wanted(entries[i], options) && !decides_further) continue;
    ChosenPlan own =
        i == deciding && first ? *std::exchange(first, std::nullopt) : chosen(entries[i], nullptr);
    if (decides_further) variables.insert(own.variables.begin(), own.variables.end());
    if (!is_wanted(entries[i], options)) continue;
    program.entry_points.push_back(i == deciding && known
                                       ? *std::move(known)
                                       : passes.lower_plan(std::move(own), prepared.entry(entries[i]).useful,
                                                           bytes, caches_of(model, entries[i])));
  }
  program.warnings.insert(program.warnings.end(), warnings.begin(), warnings.end());
  warn_of_open_loops(program);
  warn_of_idle_rings(program);
  return program;
}

// The ways to choose plans for hardware that are worth comparing: by seconds, by bytes, and by seconds where kernels
// hide what they may: most of the collectives that only updates of weights wait for, and slices. By rules, one more way
// keeps to them as far as it can; otherwise, three more hide less.
std::vector<PlanWay> ways_to_choose(bool by_rules) {
  using enum FusedMoves;
  const PlanWay hiding = {true, 0.9, false, kSlices};
  if (by_rules) return {{true}, {}, hiding, {true, 0, true, kSlices}};
  return {{true}, {}, hiding, {true, 0.9}, {true, 0.5, false, kSlices}, {true, 0, false, kAll}};
}

// The different plans that these ways choose. A way whose plan cannot be chosen is passed over. Of rules that leave
// nothing to choose, one plan is enough.
std::vector<Choice> choices_for(const Compilation& compilation, const CompileOptions& options,
                                const std::string& deciding) {
  const std::vector<PlanWay> ways = ways_to_choose(compilation.by_rules());
  std::vector<std::optional<ChosenPlan>> plans(ways.size());
  const auto is_last = [&](size_t way) {
    return compilation.by_rules() && plans[way] && !plans[way]->is_free;
  };
  std::shared_ptr<const PlanSpace> shared;
  const auto choose = [&](size_t way, std::shared_ptr<const PlanSpace> space) {
    try {
      plans[way] = deciding_plan(compilation, options, deciding, ways[way], space);
    } catch (const UserError&) {
      return;
    }
    if (way == 0) shared = std::move(space);
  };
  choose(0, nullptr);
  if (!is_last(0))
    each_in_parallel(ways.size() - 1, [&](size_t i) {
      if (!plans[0] || !options.ends_choice || !options.ends_choice()) choose(i + 1, shared);
    });
  std::vector<Choice> choices;
  for (size_t way = 0; way < ways.size(); ++way) {
    if (!plans[way]) continue;
    const auto is_same = [&](const Choice& other) {
      return is_decided_alike(plans[way]->entry, other.plan->entry);
    };
    if (std::any_of(choices.begin(), choices.end(), is_same)) continue;
    const bool ends = is_last(way);
    choices.push_back({ways[way], std::move(plans[way])});
    if (ends) break;
  }
  return choices;
}

// The deciding entry point by several plans.
struct Trials {
  std::vector<double>
      seconds;      // that a step is predicted to take by each plan; infinite if it cannot be compiled
  size_t best = 0;  // the first of the fastest plans
  std::optional<EntryPoint> step = {};  // by it; nothing if none can be compiled

  // The plans that can be compiled, the fastest first.
  std::vector<size_t> order() const {
    std::vector<size_t> found;
    for (size_t i = 0; i < seconds.size(); ++i)
      if (seconds[i] < std::numeric_limits<double>::infinity()) found.push_back(i);
    std::stable_sort(found.begin(), found.end(), [&](size_t a, size_t b) { return seconds[a] < seconds[b]; });
    return found;
  }
};

Trials tried(const Compilation& compilation, const CompileOptions& options,
             const std::vector<Choice>& choices) {
  Trials trials{std::vector<double>(choices.size(), std::numeric_limits<double>::infinity())};
  std::mutex mutex;
  each_in_parallel(choices.size(), [&](size_t i) {
    if (options.ends_choice && options.ends_choice()) {
      const std::lock_guard lock(mutex);
      if (trials.step) return;
    }
    try {
      Program program = compile_chosen(compilation, options, choices[i]);
      EntryPoint& step = program.entry_points.front();
      const double seconds =
          predicted_time(program, step, predicted_counts(program, step), *options.hardware).step_s;
      const std::lock_guard lock(mutex);
      trials.seconds[i] = seconds;
      if (trials.step && std::pair(seconds, i) >= std::pair(trials.seconds[trials.best], trials.best)) return;
      trials.best = i;
      trials.step = std::move(step);
    } catch (const UserError&) {
      // A plan that cannot be compiled is passed over. If none can, the compilation by the plan of least cost says what
      // is wrong.
    }
  });
  return trials;
}

// Compiles with the plan of least cost. With hardware, several plans are chosen, and the one with the shortest
// predicted step is taken.
Program compile_best(const Compilation& compilation, const CompileOptions& options) {
  const std::optional<PlanWay>& decided = compilation.plan.way;
  const Choice least{decided.value_or(PlanWay())};
  if (decided || !options.hardware) return compile_chosen(compilation, options, least);
  const std::vector<std::string> entries = entries_of(compilation.model, options);
  CompileOptions trial = options.unwatched();
  trial.entries = {entries[deciding_index(compilation, options, entries)]};
  const std::vector<Choice> choices = choices_for(compilation, trial, trial.entries[0]);
  if (choices.size() == 1) return compile_chosen(compilation, options, choices.front());
  Trials trials = tried(compilation, trial, choices);
  for (const size_t i : trials.order()) try {
      const bool is_known = i == trials.best && !options.is_watched();
      return compile_chosen(compilation, options, choices[i],
                            is_known ? std::move(trials.step) : std::nullopt);
    } catch (const UserError&) {
      // By rules, entry points that cannot be compiled by this plan may be by the next one.
      if (!compilation.by_rules()) throw;
    }
  return compile_chosen(compilation, options, least);
}

}  // namespace

bool verifies_by_default() {
#ifdef NDEBUG
  static const bool kVerifies = [] {
    const char* const said = std::getenv("MTFC_VERIFY_PASSES");
    return said && said != std::string_view("0");
  }();
  return kVerifies;
#else
  return true;
#endif
}

Model with_form(Model model, const ModelForm& form, const CompileOptions& options) {
  return PassRunner({}, {}, options).formed(std::move(model), form);
}

EntryGraph declared_entry(const Model& model, const std::string& name, const std::vector<std::string>& keep) {
  CompileOptions options;
  options.keep = keep;
  return PassRunner({}, {}, options).declared(model, name);
}

ResolvedLayout::ResolvedLayout(const Model& model, const Layout& given, const CompileOptions& options)
    : annotations(model, given) {
  check_kept(model, options, entries_of(model, options));
  layout = with_checked_rings(model, given, options);
}

Program compile(const Model& model, const Layout& layout, const CompileOptions& options, const Plan& plan) {
  ResolvedLayout resolved(model, layout, options);
  const PreparedModel prepared(model, options, std::move(resolved.annotations));
  return prepared.compile(resolved.layout, {}, plan);
}

void check_compilable(const Model& model, const Layout& layout, const CompileOptions& options) {
  const ResolvedLayout resolved(model, layout, options);
  const StateSplit split = checked_split(model, layout, resolved.annotations, options, {});
  require_countable(all_variables(model));
  const Program nothing;
  PassRunner passes(nothing, split, options);
  for (const std::string& name : entries_of(model, options)) {
    EntryGraph entry = resolved.annotations.applied(passes.declared(model, name));
    const std::vector<VariableDecl> caches = caches_of(model, name);
    passes.check_graph(std::move(entry));
    require_countable(caches);
  }
}

struct PreparedModel::Lowered {
  std::once_flag is_there;
  Entry entry;
};

PreparedModel::PreparedModel(const Model& model, const CompileOptions& options, Annotations annotations)
    : model_(model), options_(options), annotations_(std::move(annotations)) {
  for (const std::string& name : entries_of(model, options_))
    entries_.emplace(name, std::make_unique<Lowered>());
}

PreparedModel::~PreparedModel() = default;

const PreparedModel::Entry& PreparedModel::entry(const std::string& name) const {
  Lowered& lowered = *entries_.find(name)->second;
  std::call_once(lowered.is_there, [&] {
    const Program nothing;
    const StateSplit whole;
    PassRunner passes(nothing, whole, options_);
    EntryGraph given = annotations_.applied(passes.declared(model_, name));
    lowered.entry.graph = passes.lower_graph(std::move(given), lowered.entry.useful);
  });
  return lowered.entry;
}

std::vector<PreparedModel::Part> PreparedModel::parts(const std::string& name, const Plan& plan) const {
  std::vector<Part> parts;
  if (!entries_.contains(name)) return parts;
  Program program;
  program.plan = plan;
  const StateSplit whole;
  const CompileOptions quiet = options_.unwatched();
  parts.push_back({PassRunner(program, whole, quiet).rematerialized(entry(name).graph), 1});
  for (size_t p = 0; p < parts.size(); ++p) {
    const Nodes nodes = parts[p].graph.graph.nodes();
    const int64_t outer = parts[p].times;
    for (const Node& node : nodes) {
      if (!node.loop) continue;
      const int64_t times = std::max<int64_t>(node.loop->times, 1);
      for (const LoopPart* part : {&node.loop->condition, &node.loop->body}) {
        EntryGraph inner = entry_of(*part, name, part == &node.loop->body ? node.loop->sums : 0);
        parts.push_back({std::move(inner), outer * times});
      }
    }
  }
  return parts;
}

Program PreparedModel::compile(const Layout& layout, const std::vector<std::string>& names,
                               const Plan& plan) const {
  CompileOptions options = options_;
  if (!names.empty()) options.entries = names;
  const StateSplit split = checked_split(model_, layout, annotations_, options, plan);
  return compile_best({model_, layout, split, annotations_, plan, *this}, options);
}

}  // namespace mtfc
