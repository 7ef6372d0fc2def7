#include "core/memory/fit_memory.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "core/cost/cost.h"
#include "core/memory/memory_bound.h"
#include "core/memory/remake_graph.h"
#include "core/model/state_split.h"
#include "core/program/repeated_names.h"

namespace mtfc {
namespace {

constexpr const char* kTrain = "train";
constexpr int kMostTries = 48;         // programs that are compiled to keep single tensors after all ...
constexpr int kFewTries = 8;           // ... and where programs are large
constexpr size_t kLarge = 2000;        // forward tensors
constexpr double kWorthTrying = 0.01;  // the part of the extra time that a kind of pieces must take

// Binary search: the least number in [low, high] for which `holds` is true. It is known to hold for `high`.
template <typename Holds>
size_t least_that(size_t low, size_t high, Holds holds) {
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (holds(middle))
      high = middle;
    else
      low = middle + 1;
  }
  return high;
}

Remade united(Remade a, const Remade& b) {
  for (size_t t = 0; t < a.size(); ++t) a[t] = a[t] || b[t];
  return a;
}

Remade without_these(Remade a, const Remade& b) {
  for (size_t t = 0; t < a.size(); ++t) a[t] = a[t] && !b[t];
  return a;
}

bool is_empty(const Remade& remade) {
  return std::none_of(remade.begin(), remade.end(), [](bool is) { return is; });
}

class Fitting {
 public:
  Fitting(const Model& model, const Layout& layout, const CompileOptions& options, int64_t limit,
          const RemakeGraph& graph, FitEffort effort)
      : model_(model),
        layout_(layout),
        options_(options.unwatched()),
        limit_(limit),
        graph_(graph),
        effort_(effort) {
    options_.entries = {kTrain};
  }

  // The choice, or nothing if none that was tried fits.
  std::optional<Remade> choose() {
    std::optional<Remade> best = cheapest_corner();
    if (best) best = with_singles_kept(with_fewer(*best));
    return is_exact() ? best_of_all(best) : best;
  }
  // True if no choice takes less time than the one found.
  bool is_exact() const { return graph_.choices().size() <= kFewChoices; }

  // The least peak of all choices that were tried.
  int64_t smallest() const {
    int64_t least = INT64_MAX;
    for (const auto& [unused, bytes] : peaks_) least = std::min(least, bytes);
    return least;
  }

 private:
  int64_t peak(const Remade& remade) {
    const Remade made = graph_.effective(remade);
    const auto known = peaks_.find(made);
    if (known != peaks_.end()) return known->second;
    CompileOptions trial = options_;
    trial.recomputed.merge(graph_.names(made));
    const int64_t bytes = compile(model_, layout_, trial).arena_bytes();
    peaks_.emplace(made, bytes);
    return bytes;
  }
  bool fits(const Remade& remade) { return peak(remade) <= limit_; }

  // The first corner that fits, less those pieces of its difference to the corner before that are not needed.
  std::optional<Remade> cheapest_corner() {
    const std::vector<Remade> corners = graph_.corners();
    // The memory of what is kept is not all that counts: where the last corner does not fit, another one may.
    size_t last = corners.size() - 1;
    const Remade between = graph_.all_between_valleys();
    if (effort_ == FitEffort::kLittle && last > 0 && !fits(corners[last])) last = 0;
    while (last > 0 && !fits(corners[last])) --last;
    if (last == 0) return fits(between) ? std::optional(between) : std::nullopt;
    const size_t first = least_that(1, last, [&](size_t i) { return fits(corners[i]); });
    const Remade& lower = corners[first - 1];
    std::vector<Remade> pieces;
    for (const Remade& piece : graph_.pieces(corners[first])) {
      Remade more = without_these(piece, lower);
      if (!is_empty(more)) pieces.push_back(std::move(more));
    }
    const auto with_first = [&](size_t count) {
      Remade remade = lower;
      for (size_t i = 0; i < count; ++i) remade = united(std::move(remade), pieces[i]);
      return remade;
    };
    const Remade all = with_first(pieces.size());
    if (!fits(all)) return corners[first];
    return with_first(least_that(0, pieces.size(), [&](size_t count) { return fits(with_first(count)); }));
  }

  // The tensors of pieces of one kind have the same names but for the numbers of layers.
  std::string kind_of(const Remade& piece) const {
    std::string kind;
    for (const std::string& name : graph_.names(piece)) kind += unnumbered(name) + " ";
    return kind;
  }

  // Keeps what can be kept after all: of each kind of pieces, the costliest kind first, as many of the last ones as
  // fit. The last layers are computed again when the peak has passed, or when it has just been reached.
  Remade with_fewer(Remade remade) {
    std::map<std::string, std::vector<Remade>> kinds;
    for (Remade& piece : graph_.pieces(remade)) {
      const std::string kind = kind_of(piece);
      kinds[kind].push_back(std::move(piece));
    }
    std::vector<std::pair<double, std::string>> order;
    for (const auto& [kind, pieces] : kinds) {
      double seconds = 0;
      for (const Remade& piece : pieces) seconds += graph_.seconds(piece);
      order.emplace_back(-seconds, kind);
    }
    std::sort(order.begin(), order.end());
    for (const auto& [negative_s, kind] : order) {
      if (-negative_s < kWorthTrying * graph_.seconds(remade)) break;
      const std::vector<Remade>& pieces = kinds[kind];
      const auto with_first = [&](size_t count) {
        Remade fewer = remade;
        for (size_t i = count; i < pieces.size(); ++i) fewer = without_these(std::move(fewer), pieces[i]);
        return fewer;
      };
      const size_t count =
          least_that(0, pieces.size(), [&](size_t first) { return fits(with_first(first)); });
      const Remade fewer = with_first(count);
      if (graph_.seconds(fewer) <= graph_.seconds(remade)) remade = fewer;
    }
    return graph_.effective(remade);
  }

  // Keeps single tensors after all, as long as there is room: those first that save most time for their memory, and of
  // equal ones the last.
  Remade with_singles_kept(Remade remade) {
    struct Single {
      double worth;  // seconds per byte
      size_t tensor;
    };
    const auto kept = [&](size_t tensor) {
      Remade fewer = remade;
      fewer[tensor] = false;
      return fewer;
    };
    const auto saved = [&](const Remade& fewer) { return graph_.seconds(remade) - graph_.seconds(fewer); };
    const auto added = [&](const Remade& fewer) {
      return graph_.kept_bytes(fewer) - graph_.kept_bytes(remade);
    };
    std::vector<Single> singles;
    for (size_t t = 0; t < remade.size(); ++t)
      if (remade[t])
        if (const Remade fewer = kept(t); saved(fewer) > 0)
          singles.push_back({saved(fewer) / static_cast<double>(std::max<int64_t>(added(fewer), 1)), t});
    std::sort(singles.begin(), singles.end(), [](const Single& a, const Single& b) {
      return std::pair(a.worth, a.tensor) > std::pair(b.worth, b.tensor);
    });
    int tries = remade.size() < kLarge ? kMostTries : kFewTries;
    for (const Single& single : singles) {
      if (tries == 0) break;
      const Remade fewer = kept(single.tensor);
      if (saved(fewer) <= 0 || added(fewer) > limit_ - peak(remade)) continue;
      --tries;
      if (fits(fewer)) remade = graph_.effective(fewer);
    }
    return remade;
  }

  // The best of all choices, of which `best` is one that fits: those that take less time are tried, the shortest first.
  std::optional<Remade> best_of_all(std::optional<Remade> best) {
    const std::vector<size_t> choices = graph_.choices();
    std::map<Remade, double> all;
    for (size_t bits = 0; bits < size_t{1} << choices.size(); ++bits) {
      Remade remade = graph_.nothing();
      for (size_t i = 0; i < choices.size(); ++i) remade[choices[i]] = (bits >> i & 1) != 0;
      remade = graph_.effective(remade);
      all.try_emplace(remade, graph_.seconds(remade));
    }
    std::vector<std::pair<double, Remade>> order;
    for (const auto& [remade, seconds] : all) order.emplace_back(seconds, remade);
    std::sort(order.begin(), order.end());
    for (const auto& [seconds, remade] : order) {
      if (best && seconds >= graph_.seconds(*best)) break;
      if (fits(remade)) return remade;
    }
    return best;
  }

  const Model& model_;
  const Layout& layout_;
  CompileOptions options_;
  int64_t limit_;
  const RemakeGraph& graph_;
  FitEffort effort_;
  std::map<Remade, int64_t> peaks_;
};

// Returns the seconds at which the convex hull of all choices keeps `budget` bytes. No choice that keeps as little
// takes less.
double hull_bound(const RemakeGraph& graph, int64_t budget) {
  const std::vector<Remade> corners = graph.corners();
  double least = 0;
  for (size_t i = 0; i + 1 < corners.size(); ++i) {
    const double at = graph.seconds(corners[i]), next = graph.seconds(corners[i + 1]);
    const auto kept = static_cast<double>(graph.kept_bytes(corners[i]));
    const double price = (next - at) / (kept - static_cast<double>(graph.kept_bytes(corners[i + 1])));
    least = std::max(least, at + price * (kept - static_cast<double>(budget)));
  }
  return least;
}

// Returns the seconds of the operations that any choice has to run again to keep the limit at the fullest step of
// `program`, which is compiled without recomputation. A tensor that the backward pass reads after this step is either
// made again or in memory at this step, beside the results of the backward pass that are there.
double bound_at_peak(const std::vector<PreparedModel::Part>& parts, const Program& program, int64_t limit,
                     const Hardware& hardware) {
  const EntryPoint& train = *program.find(kTrain);
  const size_t fullest = memory_use(train).peak;
  const Step& step = train.steps[StepIndex(fullest)];
  std::string after = tensor_name(step.name);
  const bool is_known = step.phase == Phase::kBackward &&
                        std::any_of(parts.begin(), parts.end(), [&](const PreparedModel::Part& part) {
                          return part.graph.graph.find(after) != kNoTensor;
                        });
  if (!is_known) after = "";
  const int64_t there = lasting_memory(program, train) + (is_known ? backward_memory(train, fullest) : 0);
  return hull_bound(RemakeGraph::for_bounds(parts, program, train, hardware, after), limit - there);
}

double step_seconds(const Program& program, const Hardware& hardware) {
  const EntryPoint& entry = *program.find(kTrain);
  return predicted_time(program, entry, predicted_counts(program, entry), hardware).step_s;
}

// `options` that keep to the plan of the training step, if it was chosen: only what is computed again is new.
CompileOptions with_plan(CompileOptions options, const Program& program, const EntryPoint& train) {
  if (!train.plan) return options;
  for (const ProgramVariable& variable : program.variables)
    options.variables.emplace(variable.decl.name, variable.sharding);
  for (const Step& step : train.steps)
    for (const ValueId id : step.outputs) {
      const Value& value = train.values[id];
      if (value.name == tensor_name(value) && value.sharding.partial.empty())
        options.tensors.emplace(value.name, value.sharding);
    }
  options.entry_of_tensors = train.name;
  return options;
}

// Compiles without rings other than those that `options` ask for.
FittedProgram recomputed_within(const Model& model, const Layout& layout, const CompileOptions& options,
                                int64_t limit, const Hardware& hardware, FitEffort effort) {
  FittedProgram fitted{compile(model, layout, options.unwatched()), options};
  const EntryPoint* train = fitted.program.find(kTrain);
  if (!train || train->arena_bytes <= limit) {
    if (options.is_watched()) fitted.program = compile(model, layout, options);
    return fitted;
  }
  Recomputation made;
  made.memory_before = train->arena_bytes;
  made.least_memory = least_memory(fitted.program, *train);
  made.step_before_s = step_seconds(fitted.program, hardware);
  CompileOptions prepared = options;
  prepared.decode = false;
  const std::vector<PreparedModel::Part> parts = PreparedModel(model, prepared).parts(kTrain);
  const RemakeGraph graph(parts, fitted.program, *train, hardware);
  CompileOptions again = with_plan(options, fitted.program, *train);
  Fitting fitting(model, layout, again, limit, graph, effort);
  const std::optional<Remade> choice = limit < made.least_memory ? std::nullopt : fitting.choose();
  if (!choice) {
    if (options.is_watched()) fitted.program = compile(model, layout, options);
    fitted.too_large = {std::min(fitting.smallest(), made.memory_before), made.least_memory};
    return fitted;
  }
  const Remade remade = graph.effective(*choice);
  made.seconds = graph.seconds(remade);
  made.least_seconds = bound_at_peak(parts, fitted.program, limit, hardware);
  made.is_best = fitting.is_exact();
  for (size_t t = 0; t < graph.size(); ++t)
    if (remade[t]) made.tensors.emplace(graph.name(t), graph.bytes(t));
  again.recomputed.merge(graph.names(remade));
  fitted.program = compile(model, layout, again);
  for (EntryPoint& entry : fitted.program.entry_points)
    if (!again.tensors.empty() && entry.name == kTrain)
      entry.plan.reset();  // hardly anything was left to choose
  fitted.options = std::move(again);
  made.memory = fitted.program.find(kTrain)->arena_bytes;
  made.step_s = step_seconds(fitted.program, hardware);
  // A plan that keeps to its shardings may fit as it is.
  if (!made.tensors.empty()) fitted.recomputation = std::move(made);
  return fitted;
}

int64_t count_rings(const Program& program) {
  int64_t rings = 0;
  for (const EntryPoint& entry : program.entry_points)
    for (const Step& step : entry.steps) rings += step.as<RunRing>() != nullptr;
  return rings;
}

// True if a tensor is gathered or scattered somewhere, so that a product may run in turns instead.
bool may_turn(const Program& program) {
  return std::any_of(program.entry_points.begin(), program.entry_points.end(), [](const EntryPoint& entry) {
    return std::any_of(entry.steps.begin(), entry.steps.end(), [](const Step& step) {
      const auto* start = step.as<StartCollective>();
      return start && (start->collective.kind == CollectiveKind::kAllGather ||
                       start->collective.kind == CollectiveKind::kReduceScatter);
    });
  });
}

bool fits(const FittedProgram& made, int64_t limit) {
  return !made.too_large && made.program.arena_bytes() <= limit;
}

// Lowers the figures of what does not fit to those of another way that does not fit either.
void take_least(TooLarge& large, const TooLarge& other) {
  large.smallest = std::min(large.smallest, other.smallest);
  large.least_memory = std::min(large.least_memory, other.least_memory);
}

// Compiles with recomputation, and with products in turns where that is not enough.
FittedProgram fitted_within(const Model& model, const Layout& layout, const CompileOptions& options,
                            int64_t limit, const Hardware& hardware, FitEffort effort) {
  FittedProgram fitted = recomputed_within(model, layout, options, limit, hardware, effort);
  if (fits(fitted, limit) || effort == FitEffort::kLittle || options.saves_by_rings ||
      !may_turn(fitted.program))
    return fitted;
  CompileOptions turning = options;
  turning.saves_by_rings = true;
  FittedProgram in_turns = recomputed_within(model, layout, turning, limit, hardware, effort);
  if (fits(in_turns, limit)) {
    in_turns.turned = count_rings(in_turns.program) - count_rings(fitted.program);
    return in_turns;
  }
  if (fitted.too_large && in_turns.too_large) take_least(*fitted.too_large, *in_turns.too_large);
  return fitted;
}

// True if each microbatch may scatter its gradients.
bool may_scatter(const Model& model, const Layout& layout) {
  return model.train && model.train->microbatches > 1 && !state_split(model, layout).axes.empty();
}

int64_t training_memory(const Program& program) {
  const EntryPoint* train = program.find(kTrain);
  return train ? train->arena_bytes : 0;
}

// `options` in which each microbatch scatters its gradients.
CompileOptions scattering(CompileOptions options) {
  options.scatters_microbatches = true;
  return options;
}

// Without a limit, microbatches scatter gradients that do not fit into the memory of `options.hardware`.
FittedProgram compile_unlimited(const Model& model, const Layout& layout, const CompileOptions& options) {
  FittedProgram whole{compile(model, layout, options), options};
  const int64_t memory = options.hardware ? memory_of(*options.hardware) : 0;
  const int64_t needed = training_memory(whole.program);
  if (memory == 0 || needed <= memory) return whole;
  FittedProgram scattered{compile(model, layout, scattering(options)), scattering(options)};
  if (training_memory(scattered.program) >= needed) return whole;
  scattered.scattered_from = needed;
  return scattered;
}

FittedProgram compile_limited(const Model& model, const Layout& layout, const CompileOptions& options,
                              int64_t limit, const Hardware& hardware, FitEffort effort) {
  FittedProgram whole = fitted_within(model, layout, options, limit, hardware, effort);
  if (fits(whole, limit) && !whole.recomputation && whole.turned == 0) return whole;
  FittedProgram scattered = fitted_within(model, layout, scattering(options), limit, hardware, effort);
  if (!fits(scattered, limit)) {
    if (whole.too_large && scattered.too_large) take_least(*whole.too_large, *scattered.too_large);
    return whole;
  }
  if (fits(whole, limit) &&
      step_seconds(whole.program, hardware) <= step_seconds(scattered.program, hardware))
    return whole;
  scattered.scattered_from =
      whole.recomputation ? whole.recomputation->memory_before : training_memory(whole.program);
  return scattered;
}

}  // namespace

FittedProgram compile_within(const Model& model, const Layout& layout, const CompileOptions& options,
                             int64_t limit, const Hardware& hardware, FitEffort effort) {
  if (options.scatters_microbatches || !may_scatter(model, layout))
    return limit == 0 ? FittedProgram{compile(model, layout, options), options}
                      : fitted_within(model, layout, options, limit, hardware, effort);
  const CompileOptions quiet = options.unwatched();
  FittedProgram chosen = limit == 0 ? compile_unlimited(model, layout, quiet)
                                    : compile_limited(model, layout, quiet, limit, hardware, effort);
  if (options.is_watched()) {
    CompileOptions watched = chosen.options;
    watched.dump_graph = options.dump_graph;
    watched.dump_steps = options.dump_steps;
    watched.timed = options.timed;
    watched.planned = options.planned;
    compile(model, layout, watched);
  }
  return chosen;
}

}  // namespace mtfc
