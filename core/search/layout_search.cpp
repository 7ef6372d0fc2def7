#include "core/search/layout_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <memory>
#include <numeric>
#include <thread>
#include <tuple>

#include "core/cost/cost.h"
#include "core/cost/device_order.h"
#include "core/passes/pipeline.h"
#include "core/search/layout_bound.h"

namespace mtfc {
namespace {

constexpr size_t kMostCandidates = 4'000'000;  // each takes some 50 bytes
constexpr int64_t kMostLegal = 100'000'000;    // some half a minute to go through
constexpr int64_t kPatience = 1 << 16;         // rule sets between two looks at whether to stop
constexpr size_t kBatch = 16;  // compiled between two looks at the bound, whatever the threads

// The rule sets of one mesh, and their bounds.
struct MeshSpace {
  SearchSpace space;
  LayoutBound bound;
  /// `program` is the model compiled for one device.
  MeshSpace(const Model& model, const Layout& fixed, const Program& program, const Hardware& hardware,
            const SearchOptions& options)
      : space(model, fixed, hardware, options.limits),
        bound(space, model, program, *program.find(options.entry), hardware) {}
};

struct Candidate {
  double seconds = 0, bytes = 0;  // bounds
  uint32_t mesh = 0;
  uint32_t rules = 0;
  size_t choice = 0;  // where its options begin
};

struct Evaluation {
  bool is_legal = false;
  std::optional<FoundLayout> found;  // where it may be one of the best
};

CompileOptions compile_options(const SearchOptions& options) {
  CompileOptions compiling;
  compiling.allow_uneven = options.limits.allow_uneven;
  compiling.decode = options.limits.decodes;
  return compiling;
}

// The largest arena of all entry points, of which `program` has the one that is timed.
int64_t memory_of(const PreparedModel& model, const Program& program,
                  const std::vector<std::string>& others) {
  return std::max(program.arena_bytes(), model.compile(program.layout, others).arena_bytes());
}

class LayoutSearch {
 public:
  LayoutSearch(const Model& model, const Hardware& hardware, const SearchOptions& options)
      : model_(model),
        hardware_(hardware),
        options_(options),
        prepared_(model, compile_options(options)),
        ranking_(options.top) {
    for (const char* name : {"init", "train", "evaluate", "decode"})
      if (name != options.entry) others_.emplace_back(name);
  }

  SearchResult run(const std::vector<Layout>& fixed) {
    gather(fixed);
    search();
    if (ranking_.layouts().empty() && !stopped_) find_smallest();
    result_.is_proved = !stopped_;
    result_.best = std::move(ranking_).layouts();
    if (!result_.best.empty()) result_.smallest.reset();
    if (result_.best.empty() ||
        (result_.too_large && result_.too_large->step_s >= result_.best.front().step_s))
      result_.too_large.reset();
    return std::move(result_);
  }

 private:
  // Every mesh on which the fixed rules are legal.
  void gather(const std::vector<Layout>& fixed) {
    const Program alone = prepared_.compile({});
    std::vector<Diagnostic> errors;
    std::vector<const Layout*> searched;
    for (const Layout& layout : fixed) {
      if (stopped_) break;
      if (std::any_of(searched.begin(), searched.end(),
                      [&](const Layout* other) { return are_mirrored(layout, *other); }))
        continue;
      try {
        prepared_.compile(layout);
        meshes_.push_back(std::make_unique<MeshSpace>(model_, layout, alone, hardware_, options_));
      } catch (const UserError& error) {
        for (const Diagnostic& diagnostic : error.diagnostics()) errors.push_back(diagnostic);
        continue;
      }
      searched.push_back(&layout);
      add_candidates();
    }
    if (meshes_.empty()) throw UserError(std::move(errors));
    counts().meshes = static_cast<int64_t>(meshes_.size());
    counts().left = static_cast<int64_t>(candidates_.size());
  }

  // Those of the last mesh.
  void add_candidates() {
    const MeshSpace& mesh = *meshes_.back();
    counts().rule_sets += mesh.space.rule_sets();
    mesh.space.each([&](RuleChoice choice, bool is_mirrored) {
      if (++counts().legal > kMostLegal || candidates_.size() == kMostCandidates)
        throw UserError("there are too many rule sets to search",
                        "--dims and --max-axes-per-dim leave fewer, and so do rules that --layout fixes");
      if (counts().legal % kPatience == 0) stopped_ = options_.stops();
      if (is_mirrored)
        ++counts().mirrored;
      else
        add_candidate(mesh, choice);
      return !stopped_;
    });
  }

  void add_candidate(const MeshSpace& mesh, RuleChoice choice) {
    const auto rules = std::count_if(choice.begin(), choice.end(), [](uint16_t one) { return one > 0; });
    candidates_.push_back({mesh.bound.seconds(choice), mesh.bound.bytes(choice),
                           static_cast<uint32_t>(meshes_.size() - 1), static_cast<uint32_t>(rules),
                           choices_.size()});
    choices_.insert(choices_.end(), choice.begin(), choice.end());
  }

  // Whether axes that may change places make one mesh of the two.
  bool are_mirrored(const Layout& a, const Layout& b) const {
    std::vector<Axis> one = a.mesh.axes(), other = b.mesh.axes();
    if (one.size() != other.size() || !a.mesh.device_order().empty() || !b.mesh.device_order().empty())
      return false;
    for (const AxisList& kind : alike_axes(model_, a, hardware_))
      for (std::vector<Axis>* axes : {&one, &other}) {
        std::vector<int64_t> sizes;
        for (const int axis : kind) sizes.push_back((*axes)[static_cast<size_t>(axis)].size);
        std::sort(sizes.begin(), sizes.end());
        for (size_t i = 0; i < kind.size(); ++i) (*axes)[static_cast<size_t>(kind[i])].size = sizes[i];
      }
    return one == other;
  }

  Layout layout_of(const Candidate& candidate) const {
    const SearchSpace& space = meshes_[candidate.mesh]->space;
    return space.layout({choices_.data() + candidate.choice, space.dims().size()});
  }

  bool fits(double bytes) const {
    return options_.memory_limit == 0 || bytes <= static_cast<double>(options_.memory_limit);
  }

  void search() {
    std::stable_sort(candidates_.begin(), candidates_.end(), [](const Candidate& a, const Candidate& b) {
      return std::tuple(a.seconds, a.rules) < std::tuple(b.seconds, b.rules);
    });
    size_t next = 0;
    const auto take = [&]() -> const Candidate* {
      while (next < candidates_.size()) {
        const Candidate& candidate = candidates_[next++];
        if (ranking_.excludes(candidate.seconds)) {
          counts().no_better += static_cast<int64_t>(candidates_.size() - next + 1);
          counts().left -= static_cast<int64_t>(candidates_.size() - next + 1);
          next = candidates_.size();
        } else if (!fits(candidate.bytes * (1 - kLayoutRounding))) {
          ++counts().too_large;
          --counts().left;
        } else {
          return &candidate;
        }
      }
      return nullptr;
    };
    work_off(take);
  }

  // Nothing fits: among what was compiled and what was not, for its variables, is the one that needs least.
  void find_smallest() {
    std::erase_if(candidates_, [&](const Candidate& one) { return fits(one.bytes * (1 - kLayoutRounding)); });
    std::stable_sort(candidates_.begin(), candidates_.end(), [](const Candidate& a, const Candidate& b) {
      return std::tuple(a.bytes, a.seconds, a.rules) < std::tuple(b.bytes, b.seconds, b.rules);
    });
    counts().too_large -= static_cast<int64_t>(candidates_.size());
    counts().left += static_cast<int64_t>(candidates_.size());
    size_t next = 0;
    const auto take = [&]() -> const Candidate* {
      if (next == candidates_.size()) return nullptr;
      const Candidate& candidate = candidates_[next++];
      const std::optional<FoundLayout>& smallest = result_.smallest;
      if (!smallest || candidate.bytes * (1 - kLayoutRounding) <= static_cast<double>(smallest->memory))
        return &candidate;
      counts().too_large += static_cast<int64_t>(candidates_.size() - next + 1);
      counts().left -= static_cast<int64_t>(candidates_.size() - next + 1);
      next = candidates_.size();
      return nullptr;
    };
    work_off(take);
  }

  // Compiles what `take` gives, a batch at a time.
  template <typename Take>
  void work_off(Take take) {
    while (!stopped_) {
      std::vector<const Candidate*> batch;
      while (batch.size() < kBatch) {
        const Candidate* candidate = take();
        if (!candidate) break;
        batch.push_back(candidate);
      }
      if (batch.empty()) return;
      std::vector<std::optional<Evaluation>> evaluations = evaluated(batch);
      for (std::optional<Evaluation>& evaluation : evaluations)
        if (evaluation) add(std::move(*evaluation));
      options_.progress(counts(), ranking_.layouts().empty() ? nullptr : &ranking_.layouts().front());
    }
  }

  // The other entry points, of which only the memory counts, are compiled where the step is short enough.
  Evaluation evaluate(Layout layout) const {
    std::optional<Program> program;
    try {
      program = prepared_.compile(layout, {options_.entry});
    } catch (const UserError&) {
      return {};
    }
    const EntryPoint& entry = *program->find(options_.entry);
    const std::vector<StepCount> counts = predicted_counts(*program, entry);
    FoundLayout found{std::move(layout)};
    found.step_s = predicted_time(*program, entry, counts, hardware_).step_s;
    if (const auto order = propose_device_order(*program, entry, counts, hardware_)) {
      found.layout.mesh = Mesh(found.layout.mesh.axes(), order->device_order);
      found.step_s = order->step_s;
    }
    if (ranking_.excludes(found.step_s)) return {true, std::nullopt};
    for (const StepCount& count : counts) {
      found.sent += count.bytes_sent;
      found.flops += count.flops;
    }
    found.memory = memory_of(prepared_, *program, others_);
    return {true, std::move(found)};
  }

  // Nothing for those that were not looked at, where the search was stopped.
  std::vector<std::optional<Evaluation>> evaluated(const std::vector<const Candidate*>& batch) {
    std::vector<std::optional<Evaluation>> evaluations(batch.size());
    std::vector<std::exception_ptr> errors(batch.size());
    std::atomic<size_t> next = 0;
    std::atomic<bool> stopped = false;
    const auto work = [&] {
      for (size_t i = next++; i < batch.size(); i = next++) {
        if (stopped || options_.stops()) {
          stopped = true;
          return;
        }
        try {
          evaluations[i] = evaluate(layout_of(*batch[i]));
        } catch (...) {
          errors[i] = std::current_exception();
        }
      }
    };
    {
      std::vector<std::jthread> threads;
      for (size_t t = 1; t < std::min(options_.threads, batch.size()); ++t) threads.emplace_back(work);
      work();
    }
    for (const std::exception_ptr& error : errors)
      if (error) std::rethrow_exception(error);
    stopped_ = stopped;
    return evaluations;
  }

  void add(Evaluation evaluation) {
    --counts().left;
    ++counts().compiled;
    if (!evaluation.is_legal) ++counts().refused;
    if (!evaluation.found) return;
    FoundLayout& found = *evaluation.found;
    if (fits(static_cast<double>(found.memory))) return ranking_.add(std::move(found));
    ++counts().too_large;
    std::optional<FoundLayout>&fastest = result_.too_large, &smallest = result_.smallest;
    const auto key = [](const FoundLayout& found) { return std::tuple(found.memory, found.step_s); };
    if (!smallest || key(found) < key(*smallest)) smallest = found;
    if (!fastest || is_better(found, *fastest)) fastest = std::move(found);
  }

  SearchCounts& counts() { return result_.counts; }

  const Model& model_;
  const Hardware& hardware_;
  const SearchOptions& options_;
  const PreparedModel prepared_;
  std::vector<std::string> others_;  // entry points
  std::vector<std::unique_ptr<MeshSpace>> meshes_;
  std::vector<Candidate> candidates_;
  std::vector<uint16_t> choices_;  // of all candidates, one behind the other
  LayoutRanking ranking_;
  SearchResult result_;
  bool stopped_ = false;
};

}  // namespace

SearchResult search_layouts(const Model& model, const std::vector<Layout>& fixed, const Hardware& hardware,
                            const SearchOptions& options) {
  return LayoutSearch(model, hardware, options).run(fixed);
}

}  // namespace mtfc
