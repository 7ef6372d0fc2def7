#include "core/compile/fit_memory.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "core/compile/memory_bound.h"
#include "core/compile/remat_graph.h"
#include "core/cost/cost.h"
#include "core/model/state_split.h"
#include "core/program/repeated_names.h"

namespace mtfc {
namespace {

constexpr const char* kTrain = "train";
constexpr int kMostTries = 48;         // programs that are compiled to keep single tensors after all ...
constexpr int kFewTries = 8;           // ... and where programs are large
constexpr size_t kLarge = 2000;        // forward tensors
constexpr double kLeastSlope = 0.05;   // of a peak, as a guess: its bytes per byte that is kept
constexpr double kWorthTrying = 0.01;  // the part of the extra time that a kind of pieces must take

RematSet united(RematSet a, const RematSet& b) {
  for (size_t t = 0; t < a.size(); ++t) a[t] = a[t] || b[t];
  return a;
}

RematSet without_these(RematSet a, const RematSet& b) {
  for (size_t t = 0; t < a.size(); ++t) a[t] = a[t] && !b[t];
  return a;
}

bool is_empty(const RematSet& remade) {
  return std::none_of(remade.begin(), remade.end(), [](bool is) { return is; });
}

// The program of all entry points that are asked for, by the plan.
Program compiled(const FitTask& task, const Plan& plan) {
  return task.whole && plan == Plan() ? *task.whole : task.model.compile(task.layout, {}, plan);
}

class Fitting {
 public:
  // The programs that it tries keep to `plan`. `memory`: the peak if nothing is computed again.
  Fitting(const FitTask& task, const Plan& plan, const RematGraph& graph, int64_t memory)
      : task_(task), plan_(plan), limit_(task.limit), graph_(graph), memory_(memory), effort_(task.effort) {}

  // The choice, or nothing if none that was tried fits.
  std::optional<RematSet> choose() {
    std::optional<RematSet> best = cheapest_corner();
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

  // The program of a choice that fits, by `plan`, which says the choice.
  Program made(const RematSet& choice, const Plan& plan) && {
    const bool is_whole = task_.model.options().entries == std::vector<std::string>{kTrain};
    if (is_whole && last_ && last_->first == choice) return std::move(last_->second);
    return compiled(task_, plan);
  }

 private:
  int64_t peak(const RematSet& remade) {
    const RematSet made = graph_.effective(remade);
    const auto known = peaks_.find(made);
    if (known != peaks_.end()) return known->second;
    Plan trial = plan_;
    trial.recomputed.merge(graph_.names(made));
    Program program = task_.model.compile(task_.layout, {kTrain}, trial);
    const int64_t bytes = program.arena_bytes();
    peaks_.emplace(made, bytes);
    if (bytes <= limit_) last_ = {made, std::move(program)};
    return bytes;
  }
  bool fits(const RematSet& remade) { return peak(remade) <= limit_; }

  // A choice as a point: the bytes that it keeps, and its peak. A try takes a compilation, so that peaks are guessed:
  // they fall as what is kept does, and between two known points in proportion.
  struct Point {
    double kept;
    double peak;
  };
  Point tried(const RematSet& choice) {
    return {static_cast<double>(graph_.kept_bytes(choice)), static_cast<double>(peak(choice))};
  }
  // The bytes that a choice may keep, as a guess from a point and a slope in bytes of the peak per byte that is kept.
  double may_keep(const Point& point, double slope) const {
    return point.kept + (static_cast<double>(limit_) - point.peak) / std::max(slope, kLeastSlope);
  }
  // The least number in [low, high) of which the choice keeps at most `bytes`, or the last one.
  template <typename ChoiceAt>
  size_t least_that_keeps(double bytes, size_t low, size_t high, ChoiceAt choice_at) const {
    size_t last = high - 1;
    while (low < last)
      if (const size_t at = low + (last - low) / 2;
          static_cast<double>(graph_.kept_bytes(choice_at(at))) <= bytes)
        last = at;
      else
        low = at + 1;
    return last;
  }

  // Returns the least number in [low, high] of which the choice fits, where greater ones keep less. That of `high` is
  // known to fit. Every third try halves the rest.
  template <typename ChoiceAt>
  size_t least_that_fits(size_t low, size_t high, ChoiceAt choice_at) {
    Point within = tried(choice_at(high));
    double slope = 1;
    for (int tries = 1; low < high; ++tries) {
      const size_t middle = tries % 3 == 0 ? low + (high - low) / 2
                                           : least_that_keeps(may_keep(within, slope), low, high, choice_at);
      const Point point = tried(choice_at(middle));
      if (point.kept > within.kept) slope = (point.peak - within.peak) / (point.kept - within.kept);
      if (point.peak <= static_cast<double>(limit_)) {
        high = middle;
        within = point;
      } else {
        low = middle + 1;
      }
    }
    return high;
  }

  // The number of a corner that fits, or 0. What is kept is not all that counts: where the last corner does not fit,
  // which keeps least, an earlier one may.
  size_t fitting_corner(const std::vector<RematSet>& corners) {
    const auto corner = [&](size_t i) { return corners[i]; };
    const Point first{static_cast<double>(graph_.kept_bytes(corners[0])), static_cast<double>(memory_)};
    const size_t last = corners.size() - 1;
    if (last == 0 || fits(corners[last])) return last;
    if (effort_ == FitEffort::kLittle) return 0;
    for (size_t i = least_that_keeps(may_keep(first, 1), 1, last, corner); i < last; ++i)
      if (fits(corners[i])) return i;
    for (size_t i = last - 1; i > 0; --i)
      if (fits(corners[i])) return i;
    return 0;
  }

  // The first corner that fits, less those pieces of its difference to the corner before that are not needed.
  std::optional<RematSet> cheapest_corner() {
    std::vector<RematSet> corners = graph_.corners();
    size_t last = fitting_corner(corners);
    const RematSet between = graph_.all_between_valleys();
    if (last == 0) {
      for (RematSet& corner : corners) corner = graph_.with_end_kept(std::move(corner));
      last = fitting_corner(corners);
    }
    if (last == 0) return fits(between) ? std::optional(between) : std::nullopt;
    const size_t first = least_that_fits(1, last, [&](size_t i) { return corners[i]; });
    const RematSet& lower = corners[first - 1];
    std::vector<RematSet> pieces;
    for (const RematSet& piece : graph_.pieces(corners[first])) {
      RematSet more = without_these(piece, lower);
      if (!is_empty(more)) pieces.push_back(std::move(more));
    }
    const auto with_first = [&](size_t count) {
      RematSet remade = lower;
      for (size_t i = 0; i < count; ++i) remade = united(std::move(remade), pieces[i]);
      return remade;
    };
    const RematSet all = with_first(pieces.size());
    if (!fits(all)) return corners[first];
    return with_first(least_that_fits(0, pieces.size(), with_first));
  }

  // The tensors of pieces of one kind have the same names but for the numbers of layers.
  std::string kind_of(const RematSet& piece) const {
    std::string kind;
    for (const std::string& name : graph_.names(piece)) kind += unnumbered(name) + " ";
    return kind;
  }

  // Keeps what can be kept after all: of each kind of pieces, the costliest kind first, as many of the last ones as
  // fit. The last layers are computed again when the peak has passed, or when it has just been reached.
  RematSet with_fewer(RematSet remade) {
    std::map<std::string, std::vector<RematSet>> kinds;
    for (RematSet& piece : graph_.pieces(remade)) {
      const std::string kind = kind_of(piece);
      kinds[kind].push_back(std::move(piece));
    }
    std::vector<std::pair<double, std::string>> order;
    for (const auto& [kind, pieces] : kinds) {
      double seconds = 0;
      for (const RematSet& piece : pieces) seconds += graph_.seconds(piece);
      order.emplace_back(-seconds, kind);
    }
    std::sort(order.begin(), order.end());
    for (const auto& [negative_s, kind] : order) {
      if (-negative_s < kWorthTrying * graph_.seconds(remade)) break;
      const std::vector<RematSet>& pieces = kinds[kind];
      const auto with_first = [&](size_t count) {
        RematSet fewer = remade;
        for (size_t i = count; i < pieces.size(); ++i) fewer = without_these(std::move(fewer), pieces[i]);
        return fewer;
      };
      const RematSet fewer = with_first(least_that_fits(0, pieces.size(), with_first));
      if (graph_.seconds(fewer) <= graph_.seconds(remade)) remade = fewer;
    }
    return graph_.effective(remade);
  }

  // Keeps single tensors after all, as long as there is room: those first that save most time for their memory, and of
  // equal ones the last.
  RematSet with_singles_kept(RematSet remade) {
    struct Single {
      double worth;  // seconds per byte
      size_t tensor;
    };
    const auto kept = [&](size_t tensor) {
      RematSet fewer = remade;
      fewer[tensor] = false;
      return fewer;
    };
    const auto saved = [&](const RematSet& fewer) { return graph_.seconds(remade) - graph_.seconds(fewer); };
    const auto added = [&](const RematSet& fewer) {
      return graph_.kept_bytes(fewer) - graph_.kept_bytes(remade);
    };
    std::vector<Single> singles;
    for (size_t t = 0; t < remade.size(); ++t)
      if (remade[t])
        if (const RematSet fewer = kept(t); saved(fewer) > 0)
          singles.push_back({saved(fewer) / static_cast<double>(std::max<int64_t>(added(fewer), 1)), t});
    std::sort(singles.begin(), singles.end(), [](const Single& a, const Single& b) {
      return std::pair(a.worth, a.tensor) > std::pair(b.worth, b.tensor);
    });
    int tries = remade.size() < kLarge ? kMostTries : kFewTries;
    for (const Single& single : singles) {
      if (tries == 0) break;
      const RematSet fewer = kept(single.tensor);
      if (saved(fewer) <= 0 || added(fewer) > limit_ - peak(remade)) continue;
      --tries;
      if (fits(fewer)) remade = graph_.effective(fewer);
    }
    return remade;
  }

  // The best of all choices, of which `best` is one that fits: those that take less time are tried, the shortest first.
  std::optional<RematSet> best_of_all(std::optional<RematSet> best) {
    const std::vector<size_t> choices = graph_.choices();
    std::map<RematSet, double> all;
    for (size_t bits = 0; bits < size_t{1} << choices.size(); ++bits) {
      RematSet remade = graph_.nothing();
      for (size_t i = 0; i < choices.size(); ++i) remade[choices[i]] = (bits >> i & 1) != 0;
      remade = graph_.effective(remade);
      all.try_emplace(remade, graph_.seconds(remade));
    }
    std::vector<std::pair<double, RematSet>> order;
    for (const auto& [remade, seconds] : all) order.emplace_back(seconds, remade);
    std::sort(order.begin(), order.end());
    for (const auto& [seconds, remade] : order) {
      if (best && seconds >= graph_.seconds(*best)) break;
      if (fits(remade)) return remade;
    }
    return best;
  }

  const FitTask& task_;
  const Plan& plan_;
  int64_t limit_;
  const RematGraph& graph_;
  int64_t memory_;
  FitEffort effort_;
  std::map<RematSet, int64_t> peaks_;
  std::optional<std::pair<RematSet, Program>> last_;  // that fits
};

// Returns the seconds at which the convex hull of all choices keeps `budget` bytes. No choice that keeps as little
// takes less.
double hull_bound(const RematGraph& graph, int64_t budget) {
  const std::vector<RematSet> corners = graph.corners();
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
  return hull_bound(RematGraph::for_bounds(parts, program, train, hardware, after), limit - there);
}

double step_seconds(const Program& program, const Hardware& hardware) {
  const EntryPoint& entry = *program.find(kTrain);
  return predicted_time(program, entry, predicted_counts(program, entry), hardware).step_s;
}

// Compiles without rings other than those of `plan`.
FittedProgram recomputed_within(const FitTask& task, const Plan& plan) {
  const int64_t limit = task.limit;
  FittedProgram fitted{compiled(task, plan)};
  const EntryPoint* train = fitted.program.find(kTrain);
  if (!train || train->arena_bytes <= limit) return fitted;
  Recomputation made;
  made.memory_before = train->arena_bytes;
  made.least_memory = least_memory(fitted.program, *train);
  made.step_before_s = step_seconds(fitted.program, task.hardware);
  const std::vector<PreparedModel::Part> parts = task.model.parts(kTrain, plan);
  const RematGraph graph(parts, fitted.program, *train, task.hardware);
  // Only what is computed again is new, if a plan was chosen.
  Plan again = train->plan ? with_shardings(plan, fitted.program, *train) : plan;
  again.way = fitted.program.plan.way;
  Fitting fitting(task, again, graph, made.memory_before);
  const std::optional<RematSet> choice = limit < made.least_memory ? std::nullopt : fitting.choose();
  if (!choice) {
    fitted.too_large = {std::min(fitting.smallest(), made.memory_before), made.least_memory};
    return fitted;
  }
  const RematSet remade = graph.effective(*choice);
  made.seconds = graph.seconds(remade);
  made.least_seconds = bound_at_peak(parts, fitted.program, limit, task.hardware);
  made.is_best = fitting.is_exact();
  for (size_t t = 0; t < graph.size(); ++t)
    if (remade[t]) made.tensors.emplace(graph.name(t), graph.bytes(t));
  again.recomputed.merge(graph.names(remade));
  fitted.program = std::move(fitting).made(remade, again);
  for (EntryPoint& entry : fitted.program.entry_points)
    if (again.tensors.contains(entry.name)) entry.plan.reset();  // hardly anything was left to choose
  made.memory = fitted.program.find(kTrain)->arena_bytes;
  made.step_s = step_seconds(fitted.program, task.hardware);
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
FittedProgram fitted_within(const FitTask& task, const Plan& plan) {
  FittedProgram fitted = recomputed_within(task, plan);
  if (fits(fitted, task.limit) || task.effort == FitEffort::kLittle || !may_turn(fitted.program))
    return fitted;
  Plan turning = plan;
  turning.saves_by_rings = true;
  FittedProgram in_turns = recomputed_within(task, turning);
  if (fits(in_turns, task.limit)) {
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

Plan scattering_plan() {
  Plan plan;
  plan.scatters_microbatches = true;
  return plan;
}

// Without a limit, microbatches scatter gradients that do not fit into `memory`; 0 stands for none.
FittedProgram compile_unlimited(const FitTask& task, int64_t memory) {
  FittedProgram whole{compiled(task, {})};
  const int64_t needed = training_memory(whole.program);
  if (memory == 0 || needed <= memory) return whole;
  FittedProgram scattered{compiled(task, scattering_plan())};
  if (training_memory(scattered.program) >= needed) return whole;
  scattered.scattered_from = needed;
  return scattered;
}

FittedProgram compile_limited(const FitTask& task) {
  FittedProgram whole = fitted_within(task, {});
  if (fits(whole, task.limit) && !whole.recomputation && whole.turned == 0) return whole;
  FittedProgram scattered = fitted_within(task, scattering_plan());
  if (!fits(scattered, task.limit)) {
    if (whole.too_large && scattered.too_large) take_least(*whole.too_large, *scattered.too_large);
    return whole;
  }
  if (fits(whole, task.limit) &&
      step_seconds(whole.program, task.hardware) <= step_seconds(scattered.program, task.hardware))
    return whole;
  scattered.scattered_from =
      whole.recomputation ? whole.recomputation->memory_before : training_memory(whole.program);
  return scattered;
}

}  // namespace

FittedProgram compile_within(const FitTask& task) {
  const bool scatters = may_scatter(task.model.model(), task.layout);
  if (task.limit > 0) return scatters ? compile_limited(task) : fitted_within(task, {});
  const Hardware* const chosen_for = task.model.options().hardware;
  return compile_unlimited(task, scatters && chosen_for ? memory_of(*chosen_for) : 0);
}

FittedProgram compile_within(const Model& model, const Layout& layout, const CompileOptions& options,
                             int64_t limit, const Hardware& hardware, FitEffort effort) {
  if (limit == 0 && !may_scatter(model, layout)) return {compile(model, layout, options)};
  const ResolvedLayout resolved(model, layout, options);
  const PreparedModel prepared(model, options.unwatched(), resolved.annotations);
  FittedProgram made = compile_within({prepared, resolved.layout, limit, hardware, effort});
  // Once more, for those who watch.
  if (options.is_watched()) compile(model, layout, options, made.program.plan);
  return made;
}

}  // namespace mtfc
