#include "core/search/fit_search.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <utility>

#include "core/compile/memory_bound.h"
#include "core/cost/cost.h"
#include "core/diagnostics/parallel.h"
#include "core/diagnostics/stop.h"
#include "core/model/annotations.h"
#include "core/model/check_layout.h"
#include "core/model/entry_points.h"
#include "core/model/zero_stage.h"
#include "core/tensors/division.h"

namespace mtfc {
namespace {

constexpr const char* kTrain = "train";
// A layout and a stage, whose trials depend on one another.
struct Series {
  size_t of = 0;  // the layout, of those that were given
  Layout layout;  // with what the stage adds to it
  std::optional<int> stage;
  std::vector<FitTrial> fits = {};
  std::optional<FitTrial> smallest = {};  // of the trials that do not fit
  std::optional<UserError> refused = {};  // where the layout can't be compiled
  bool is_done = false;                   // all that may fit was tried
};

std::vector<Series> all_series(const Model& model, const std::vector<Layout>& layouts) {
  std::vector<Series> all;
  for (size_t of = 0; of < layouts.size(); ++of) {
    const Layout& layout = layouts[of];
    const AxisList axes = data_axes(model, layout);
    if (axes.empty() || layout.state.is_stated() || !model.train || !model.train->shard_state_over.empty()) {
      all.push_back({of, layout, std::nullopt});
      continue;
    }
    for (int stage = 0; stage < kZeroStages; ++stage)
      all.push_back({of, with_zero_stage(layout, axes, stage), stage});
  }
  return all;
}

// True if the layouts differ in nothing but whether each microbatch may scatter its gradients, as stages 1 and 2 do.
bool differ_in_gradients(const Series& a, const Series& b) {
  const StateSharding &one = a.layout.state, &other = b.layout.state;
  return a.of == b.of && one.axes == other.axes && one.variables == other.variables;
}

// Groups of positions of series that differ in gradients alone. Those come first whose variables and state take least
// memory, so that a search that is stopped early has tried what is likely to fit. Layouts that are not legal come last.
std::vector<std::vector<size_t>> likely_first(const Model& model, const std::vector<Series>& all) {
  std::vector<std::pair<int64_t, size_t>> order;
  for (size_t i = 0; i < all.size(); ++i) {
    int64_t state = std::numeric_limits<int64_t>::max();
    try {
      state = least_state_memory(model, all[i].layout);
    } catch (const UserError&) {  // said when its turn comes
    }
    order.emplace_back(state, i);
  }
  std::sort(order.begin(), order.end());
  std::vector<std::vector<size_t>> groups;
  for (const auto& [state, i] : order)
    if (!groups.empty() && differ_in_gradients(all[groups.back().front()], all[i]))
      groups.back().push_back(i);
    else
      groups.push_back({i});
  return groups;
}

// A model in a number of microbatches, and what is known of it whatever the layout.
struct CutModel {
  Model model;
  PreparedModel prepared;

  CutModel(Model cut, const CompileOptions& options) : model(std::move(cut)), prepared(model, options) {}
};

// The trials of a group that hold for all its series, by their microbatches, and whether they had a limit to keep.
using KnownTrials = std::map<std::pair<int64_t, bool>, FitTrial>;

class Trials {
 public:
  Trials(const Model& model, const Hardware& hardware, const FitOptions& options, size_t all)
      : model_(model), hardware_(hardware), options_(options), all_(all) {}

  void run(Series& series, KnownTrials& known) {
    const StopScope scope(options_.stops);
    try {
      series.is_done = is_ruled_out(series) || run_counts(series, known);
    } catch (const UserError& error) {
      series.refused = error;
      series.is_done = true;
    } catch (const Stopped&) {
      is_complete_ = false;  // what the series has found so far stays
      return;
    }
    ++done_;
  }

  // Decides without compiling what can be decided so, of a series that the search has not come to.
  void rule_out(Series& series) const {
    try {
      series.is_done = is_ruled_out(series);
    } catch (const UserError& error) {
      series.refused = error;
      series.is_done = true;
    }
  }

  bool stopped() {
    if (options_.stops()) is_complete_ = false;
    return !is_complete_;
  }
  bool is_complete() const { return is_complete_; }
  int64_t count() const { return count_; }

 private:
  // Variables and the state of the optimizer are in memory whatever else a step does: where they alone are too large,
  // nothing needs to be compiled. Throws UserError for a layout that is not legal.
  bool is_ruled_out(Series& series) const {
    const int64_t state = least_state_memory(model_, series.layout);
    if (state <= options_.memory_limit) return false;
    check_layout(model_, series.layout, Annotations(model_, series.layout), options_.compiling.allow_uneven);
    series.smallest = FitTrial{series.layout, series.stage, asked_microbatches(), state};
    series.smallest->is_state_alone = true;
    return true;
  }

  // Returns false if it was stopped before all that may fit was tried. Throws UserError if no number of microbatches is
  // possible.
  bool run_counts(Series& series, KnownTrials& known) {
    std::map<int64_t, std::optional<Program>> too_large;  // by the number of microbatches
    std::optional<UserError> refused;
    for (const int64_t count : microbatch_counts()) {
      if (stopped()) return false;
      std::optional<Program> program;
      std::optional<FitTrial> trial;
      try {
        trial = tried(series, count, 0, known, program);
      } catch (const UserError& error) {
        // The batch can't be cut into so many, or the layout can't split its parts.
        if (!refused) refused = error;
        continue;
      }
      if (trial->memory <= options_.memory_limit) {
        series.fits.push_back(std::move(*trial));
        break;
      }
      too_large.emplace(count, std::move(program));
      keep_smallest(series, std::move(*trial));
    }
    if (series.fits.empty() && too_large.empty() && refused) throw UserError(*refused);
    for (auto& [count, whole] : too_large) {
      if (stopped()) return false;
      FitTrial trial = tried(series, count, options_.memory_limit, known, whole);
      if (trial.memory > options_.memory_limit) {
        keep_smallest(series, std::move(trial));
        continue;
      }
      series.fits.push_back(std::move(trial));
      break;
    }
    return true;
  }

  // A step that the model writes by hand, as assignments, has no microbatches.
  int64_t asked_microbatches() const { return model_.train ? model_.train->microbatches : 1; }

  // The numbers that divide the batch, in ascending order. Each is a multiple of the one that the model asks for.
  std::vector<int64_t> microbatch_counts() const {
    const int64_t asked = asked_microbatches();
    const std::optional<Dim> batch = model_.train ? batch_dim(model_) : std::nullopt;
    if (!batch || batch->size < asked || batch->size % asked != 0) return {asked};
    std::vector<int64_t> counts = divisors(batch->size / asked);
    for (int64_t& count : counts) count *= asked;
    return counts;
  }

  // `program`: the one without a limit, if it is known. A trial without a limit sets it.
  FitTrial tried(const Series& series, int64_t microbatches, int64_t limit, KnownTrials& known,
                 std::optional<Program>& program) {
    // Only microbatches with a limit to keep scatter their gradients.
    const bool is_common = microbatches == 1 || (limit == 0 && !options_.compiling.hardware);
    const auto at = is_common ? known.find({microbatches, limit > 0}) : known.end();
    FitTrial trial;
    if (at != known.end()) {
      trial = at->second;
    } else {
      FittedProgram made = fitted(series, microbatches, limit, std::exchange(program, std::nullopt));
      trial = trial_of(made, microbatches);
      if (limit == 0 && !trial.scatters) program = std::move(made.program);
    }
    if (is_common) known.emplace(std::pair(microbatches, limit > 0), trial);
    trial.layout = series.layout;
    trial.stage = series.stage;
    const std::lock_guard lock(mutex_);
    options_.progress({++count_, done_, all_, trial});
    return trial;
  }

  // `whole`: the program without a limit, if it is known.
  FittedProgram fitted(const Series& series, int64_t microbatches, int64_t limit,
                       std::optional<Program> whole) {
    const CompileOptions options = compiling();
    const std::shared_ptr<const CutModel> cut = cut_model(microbatches);
    const ResolvedLayout resolved(cut->model, series.layout, options);
    std::optional<PreparedModel> own;
    if (!resolved.annotations.empty()) own.emplace(cut->model, options, resolved.annotations);
    return compile_within(
        {own ? *own : cut->prepared, resolved.layout, limit, hardware_, FitEffort::kFull, std::move(whole)});
  }

  // The trial of a training step, whatever the layout is called.
  FitTrial trial_of(const FittedProgram& fitted, int64_t microbatches) const {
    const EntryPoint& entry = *fitted.program.find(kTrain);
    FitTrial trial;
    trial.microbatches = microbatches;
    trial.memory = entry.arena_bytes;
    trial.step_s =
        predicted_time(fitted.program, entry, predicted_counts(fitted.program, entry), hardware_).step_s;
    trial.recomputation = fitted.recomputation;
    trial.turned = fitted.turned;
    trial.scatters = fitted.scattered_from > 0;
    if (fitted.too_large && fitted.too_large->smallest < trial.memory) {
      trial.memory = fitted.too_large->smallest;
      trial.needs_recomputation = true;
    }
    return trial;
  }

  CompileOptions compiling() const {
    CompileOptions compiling = options_.compiling.unwatched();
    compiling.entries = {kTrain};
    compiling.decode = false;
    return compiling;
  }

  // The model in so many microbatches. Layouts share it.
  std::shared_ptr<const CutModel> cut_model(int64_t microbatches) {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<const CutModel>& cut = cut_[microbatches];
    if (!cut) {
      Model model = model_;
      if (model.train) model.train->microbatches = microbatches;
      cut = std::make_shared<const CutModel>(std::move(model), compiling());
    }
    return cut;
  }

  static void keep_smallest(Series& series, FitTrial trial) {
    if (!series.smallest || trial.memory < series.smallest->memory) series.smallest = std::move(trial);
  }

  const Model& model_;
  const Hardware& hardware_;
  const FitOptions& options_;
  size_t all_;
  std::atomic<size_t> done_ = 0;
  std::mutex mutex_;
  std::map<int64_t, std::shared_ptr<const CutModel>> cut_;  // by the number of microbatches
  std::atomic<int64_t> count_ = 0;
  std::atomic<bool> is_complete_ = true;
};

std::vector<int64_t> undecided_devices(const std::vector<Series>& all, const std::vector<FitTrial>& fits) {
  std::set<int64_t> undecided;
  for (const Series& series : all)
    if (!series.is_done) undecided.insert(series.layout.mesh.devices());
  for (const FitTrial& trial : fits) undecided.erase(trial.layout.mesh.devices());
  return {undecided.begin(), undecided.end()};
}

}  // namespace

FitResult find_fits(const Model& model, const std::vector<Layout>& layouts, const Hardware& hardware,
                    const FitOptions& options) {
  check_invariant(options.memory_limit > 0, "everything fits without a limit");
  if (!has_train_entry(model))
    throw UserError("the search for what fits needs a training step, and the model does not train");
  std::vector<Series> all = all_series(model, layouts);
  Trials trials(model, hardware, options, all.size());
  const std::vector<std::vector<size_t>> groups = likely_first(model, all);
  each_in_parallel(groups.size(), options.threads, [&](size_t g) {
    KnownTrials known;
    for (const size_t i : groups[g])
      if (!trials.stopped()) trials.run(all[i], known);
  });
  for (Series& series : all)
    if (!series.is_done) trials.rule_out(series);
  FitResult result;
  result.trials = trials.count();
  result.is_complete = trials.is_complete();
  if (std::all_of(all.begin(), all.end(), [](const Series& series) { return series.refused.has_value(); }))
    throw UserError(*all.front().refused);
  std::map<int64_t, FitTrial> smallest;  // by the number of devices
  for (Series& series : all) {
    const int64_t devices = series.layout.mesh.devices();
    for (FitTrial& trial : series.fits) result.fits.push_back(std::move(trial));
    if (series.refused) result.refused.emplace_back(series.layout, series.refused->what());
    if (!series.smallest) continue;
    result.ruled_out += series.smallest->is_state_alone ? 1 : 0;
    // What was compiled comes before what was only added up.
    const auto key = [](const FitTrial& trial) { return std::pair(trial.is_state_alone, trial.memory); };
    const auto [at, is_new] = smallest.try_emplace(devices, *series.smallest);
    if (!is_new && key(*series.smallest) < key(at->second)) at->second = *series.smallest;
  }
  std::stable_sort(result.fits.begin(), result.fits.end(), [](const FitTrial& a, const FitTrial& b) {
    return std::pair(a.layout.mesh.devices(), a.step_s) < std::pair(b.layout.mesh.devices(), b.step_s);
  });
  for (auto& [devices, trial] : smallest) {
    const bool fits = std::any_of(
        result.fits.begin(), result.fits.end(),
        [devices = devices](const FitTrial& fit) { return fit.layout.mesh.devices() == devices; });
    if (!fits) result.smallest.push_back(std::move(trial));
  }
  result.undecided = undecided_devices(all, result.fits);
  return result;
}

}  // namespace mtfc
