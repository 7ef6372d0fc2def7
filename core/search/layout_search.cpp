#include "core/search/layout_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

#include "core/compile/fit_memory.h"
#include "core/cost/cost.h"
#include "core/cost/device_order.h"
#include "core/diagnostics/error.h"
#include "core/diagnostics/parallel.h"
#include "core/diagnostics/stop.h"
#include "core/search/fewer_devices.h"
#include "core/search/plain_layouts.h"
#include "core/search/search_tree.h"

namespace mtfc {
namespace {

constexpr size_t kBatch = 8;              // compiled between two looks at the bound, whatever the threads
constexpr int64_t kGuessAfter = 1 << 12;  // branches without a complete rule set, after which one is guessed
constexpr int64_t kMostCounted = 1'000'000;
constexpr const char* kTrainingStep = "train";

// The findings of the search so far.
struct Findings {
  LayoutRanking ranking;                 // of layouts that fit
  std::vector<FoundLayout> slow;         // too slow when they were compiled; their memory is not known
  std::vector<FoundLayout> large;        // that do not fit, but may be made to fit
  std::optional<FoundLayout> too_large;  // the fastest that does not fit
  std::optional<FoundLayout> smallest;   // the smallest that does not fit
  SearchCounts counts;
  bool makes_fit = false;  // layouts that do not fit are to be made to fit
  bool is_stopped = false;
  double bound = 0;  // the least bound of what was not compiled
};

bool fits(const SearchTask& task, double bytes) {
  return task.options.memory_limit == 0 || bytes <= static_cast<double>(task.options.memory_limit);
}

bool makes_fit(const SearchTask& task) {
  return task.options.makes_fit && task.options.memory_limit > 0 && task.options.entry == kTrainingStep;
}

// -- compiling --

struct CompiledLayout {
  bool is_legal = false;
  std::optional<FoundLayout> found;
  bool is_slow = false;  // it can't be one of the best as they are now, so its memory is not known
};

// The largest arena of all entry points. `program` has only the one that is timed, whose plan decides those of the
// others.
int64_t memory_of(const SearchTask& task, const Program& program) {
  std::vector<std::string> others;
  for (const char* name : {"init", "train", "evaluate", "decode", "encode"})
    if (name != task.options.entry) others.emplace_back(name);
  const Plan plan = with_variables(program.plan, program);
  return std::max(program.arena_bytes(), task.prepared.compile(program.layout, others, plan).arena_bytes());
}

// Made while the program is at hand, so that a search that is stopped can report what it has found; nothing if it does
// not fit, as there may be very many such layouts.
std::shared_ptr<const CostReport> report_of(const SearchTask& task, const Program& program,
                                            const FoundLayout& found) {
  if (!fits(task, static_cast<double>(found.memory))) return nullptr;
  const EntryPoint& entry = *program.find(task.options.entry);
  return std::make_shared<const CostReport>(
      cost_report(program, entry, predicted_counts(program, entry), &task.hardware));
}

// The other entry points matter by their memory alone, so they are compiled only if the step is short enough.
CompiledLayout compile_layout(const SearchTask& task, Layout layout, double bound,
                              const LayoutRanking& ranking) {
  std::optional<Program> program;
  try {
    program = task.prepared.compile(layout, {task.options.entry});
  } catch (const UserError&) {
    return {};
  }
  const EntryPoint& entry = *program->find(task.options.entry);
  const std::vector<StepCount> counts = predicted_counts(*program, entry);
  FoundLayout found{std::move(layout)};
  set_costs(task, *program, counts, found);
  if (const auto order = propose_device_order(*program, entry, counts, task.hardware)) {
    found.layout.mesh = Mesh(found.layout.mesh.axes(), order->device_order);
    found.step_s = order->step_s;
  }
  if (verifies_by_default() && found.step_s < bound)
    throw InternalError(fmt::format("the layout '{}' takes {} s, less than its bound of {} s",
                                    to_string(found.layout), found.step_s, bound));
  if (ranking.excludes(found.step_s)) return {true, std::move(found), true};
  found.memory = memory_of(task, *program);
  program->layout.mesh = found.layout.mesh;  // with its device order
  found.report = report_of(task, *program, found);
  return {true, std::move(found)};
}

using Batch = std::vector<Candidate>;

struct CompiledBatch {
  std::vector<std::optional<CompiledLayout>> layouts;  // nothing for those left when the search was stopped
  bool is_stopped = false;
};

CompiledBatch compile_batch(const SearchTask& task, const MeshSpaces& meshes, const Batch& batch,
                            const LayoutRanking& ranking) {
  CompiledBatch compiled{std::vector<std::optional<CompiledLayout>>(batch.size())};
  std::atomic<bool> is_stopped = false;
  each_in_parallel(batch.size(), task.options.threads, [&](size_t i) {
    const StopScope scope(task.options.stops);
    if (!is_stopped) try {
        check_stop();
        compiled.layouts[i] = compile_layout(task, batch[i].layout(meshes), batch[i].least_s, ranking);
      } catch (const Stopped&) {
        is_stopped = true;
      }
  });
  compiled.is_stopped = is_stopped;
  return compiled;
}

// A layout that does not fit, and is not made to fit.
void add_unfit(FoundLayout found, Findings& findings) {
  std::optional<FoundLayout>& fastest = findings.too_large;
  if (!fastest || is_better(found, *fastest)) fastest = std::move(found);
}

void add_complete(const SearchTask& task, FoundLayout found, Findings& findings) {
  if (fits(task, static_cast<double>(found.memory))) return findings.ranking.add(std::move(found));
  ++findings.counts.too_large;
  std::optional<FoundLayout>& smallest = findings.smallest;
  const auto key = [](const FoundLayout& one) { return std::tuple(one.memory, one.step_s); };
  if (!smallest || key(found) < key(*smallest)) smallest = found;
  if (findings.makes_fit)
    findings.large.push_back(std::move(found));
  else
    add_unfit(std::move(found), findings);
}

void add(const SearchTask& task, CompiledLayout compiled, Findings& findings) {
  ++findings.counts.compiled;
  if (!compiled.is_legal) ++findings.counts.refused;
  if (!compiled.found) return;
  if (compiled.is_slow)
    findings.slow.push_back(std::move(*compiled.found));
  else
    add_complete(task, std::move(*compiled.found), findings);
}

// Layouts that were too slow may be among the best once others have turned out to be variants. Adds these; returns
// false if there are none, or the search was stopped before it had looked at all.
bool reconsider(const SearchTask& task, Findings& findings) {
  const StopScope scope(task.options.stops);
  std::vector<FoundLayout> slow;
  std::swap(slow, findings.slow);
  bool any = false;
  for (FoundLayout& found : slow) {
    if (findings.is_stopped || findings.ranking.excludes(found.step_s)) {
      findings.slow.push_back(std::move(found));
      continue;
    }
    try {
      const Program program = task.prepared.compile(found.layout);
      found.memory = program.arena_bytes();
      found.report = report_of(task, program, found);
    } catch (const Stopped&) {
      findings.is_stopped = true;
      findings.slow.push_back(std::move(found));
      continue;
    }
    add_complete(task, std::move(found), findings);
    any = true;
  }
  findings.ranking.group();
  return any && !findings.is_stopped;
}

// The layout with a training step that is made to fit; nothing if it can't be, or another entry point does not fit.
std::optional<FoundLayout> fitted(const SearchTask& task, FoundLayout found) {
  const FittedProgram made = compile_within(
      {task.prepared, found.layout, task.options.memory_limit, task.hardware, FitEffort::kLittle});
  found.memory = made.program.arena_bytes();
  if (made.too_large || !fits(task, static_cast<double>(found.memory))) return std::nullopt;
  const EntryPoint& train = *made.program.find(kTrainingStep);
  const std::vector<StepCount> counts = predicted_counts(made.program, train);
  set_costs(task, made.program, counts, found);
  found.is_fitted = true;
  CostReport report = cost_report(made.program, train, counts, &task.hardware);
  report.recomputation = made.recomputation;
  found.report = std::make_shared<const CostReport>(std::move(report));
  return found;
}

// Makes the fastest layout fit that does not and could be one of the best. Returns false if there is none, or the
// search was stopped before that.
bool make_fit(const SearchTask& task, Findings& findings) {
  std::vector<FoundLayout>& large = findings.large;
  const auto fastest = std::min_element(large.begin(), large.end(), is_better);
  if (fastest == large.end() || findings.ranking.excludes(fastest->step_s)) return false;
  std::optional<FoundLayout> made;
  try {
    const StopScope scope(task.options.stops);
    made = fitted(task, *fastest);
  } catch (const Stopped&) {
    return false;
  }
  if (made) {
    ++findings.counts.fitted;
    findings.ranking.add(*std::move(made));
  } else {
    add_unfit(std::move(*fastest), findings);
  }
  large.erase(fastest);
  findings.ranking.group();
  return true;
}

// A few rule sets to compile: the next ones of the tree, and a guess if these are long in coming.
Batch next_batch(const SearchTask& task, SearchTree& tree, const std::function<bool(double)>& excludes) {
  Batch batch;
  const int64_t from = tree.visited();
  bool is_guessing = false;
  const auto stops = [&] {
    is_guessing = batch.empty() && tree.visited() - from >= kGuessAfter;
    return is_guessing || task.options.stops();
  };
  while (batch.size() < kBatch) {
    is_guessing = false;
    std::optional<Candidate> candidate = tree.next(excludes, stops);
    if (!candidate && is_guessing) {
      candidate = tree.guess();
      if (candidate && !tree.take(*candidate)) candidate.reset();
      if (!candidate && !task.options.stops()) continue;
    }
    if (!candidate) break;
    batch.push_back(std::move(*candidate));
    if (is_guessing) break;
  }
  return batch;
}

// The least bound of what has not been compiled, or not been made to fit.
double least_bound(const SearchTree& tree, const Findings& findings) {
  double least = tree.least().value_or(std::numeric_limits<double>::infinity());
  for (const FoundLayout& large : findings.large) least = std::min(least, large.step_s);
  return least;
}

void tell_progress(const SearchTask& task, const Findings& findings) {
  const std::vector<FoundLayout>& best = findings.ranking.best();
  task.options.progress({findings.counts, best.empty() ? nullptr : &best.front(), findings.bound});
}

// Compiles the rule sets of the tree in their order until `excludes` says of the next bound that it is too high.
void compile_all(const SearchTask& task, const MeshSpaces& meshes, SearchTree& tree, Findings& findings,
                 const std::function<bool(double)>& excludes) {
  while (true) {
    const Batch batch = next_batch(task, tree, excludes);
    double least = tree.least().value_or(std::numeric_limits<double>::infinity());
    findings.counts.visited = tree.visited();
    if (batch.empty() && reconsider(task, findings)) continue;
    if (batch.empty() && !task.options.stops() && make_fit(task, findings)) {
      findings.bound = least_bound(tree, findings);
      tell_progress(task, findings);
      continue;
    }
    if (batch.empty()) {
      findings.bound = least_bound(tree, findings);
      findings.is_stopped |= std::isfinite(findings.bound) && !excludes(findings.bound);
      return;
    }
    CompiledBatch compiled = compile_batch(task, meshes, batch, findings.ranking);
    for (size_t i = 0; i < batch.size(); ++i)
      if (compiled.layouts[i])
        add(task, std::move(*compiled.layouts[i]), findings);
      else
        least = std::min(least, batch[i].bound);
    findings.ranking.group();
    // Until something fits, everything may be better.
    if (findings.ranking.best().empty()) make_fit(task, findings);
    for (const FoundLayout& large : findings.large) least = std::min(least, large.step_s);
    findings.bound = least;
    tell_progress(task, findings);
    if (compiled.is_stopped) {
      findings.is_stopped = true;
      return;
    }
  }
}

// The layouts that a person would try first: the first one of every mesh, then the second one of every mesh, and so on.
Batch plain_candidates(const SearchTask& task, const MeshSpaces& meshes) {
  std::vector<std::vector<std::vector<uint16_t>>> of_meshes;
  size_t most = 0;
  for (const auto& mesh : meshes) {
    of_meshes.push_back(plain_choices(task.model, mesh->space));
    most = std::max(most, of_meshes.back().size());
  }
  Batch plain;
  for (size_t i = 0; i < most; ++i)
    for (size_t m = 0; m < meshes.size(); ++m)
      if (i < of_meshes[m].size()) plain.push_back({m, of_meshes[m][i]});
  return plain;
}

// Compiles the candidates in their order until the search is stopped. Returns those that were compiled.
Batch compile_plain(const SearchTask& task, const MeshSpaces& meshes, const Batch& plain,
                    Findings& findings) {
  Batch done;
  for (size_t from = 0; from < plain.size() && !findings.is_stopped; from += kBatch) {
    const auto first = plain.begin() + static_cast<std::ptrdiff_t>(from);
    const Batch batch(first, first + static_cast<std::ptrdiff_t>(std::min(kBatch, plain.size() - from)));
    CompiledBatch compiled = compile_batch(task, meshes, batch, findings.ranking);
    for (size_t i = 0; i < batch.size(); ++i) {
      if (!compiled.layouts[i]) continue;
      add(task, std::move(*compiled.layouts[i]), findings);
      done.push_back(batch[i]);
    }
    findings.ranking.group();
    if (findings.ranking.best().empty() && !compiled.is_stopped) make_fit(task, findings);
    findings.is_stopped = compiled.is_stopped;
    tell_progress(task, findings);
  }
  return done;
}

// A search that is stopped at once still gives a layout, if this one fits.
void add_at_least(const SearchTask& task, const MeshSpaces& meshes, const std::optional<Candidate>& candidate,
                  Findings& findings) {
  if (!candidate || !findings.ranking.best().empty()) return;
  add(task, compile_layout(task, candidate->layout(meshes), 0, findings.ranking), findings);
  findings.ranking.group();
}

// Follows the tree. The candidates in `known` have been compiled.
void search_tree(const SearchTask& task, const MeshSpaces& meshes, Batch known, Findings& findings) {
  const auto may_fit = [&](const LayoutBound& bound, RuleChoice choice) {
    const double bytes = findings.makes_fit ? bound.lasting_bytes(choice) : bound.bytes(choice);
    return fits(task, bytes * (1 - kLayoutRounding));
  };
  SearchTree tree(meshes, SearchGoal::kTime, may_fit);
  for (Candidate& candidate : known) {
    const MeshSpace& mesh = *meshes[candidate.mesh];
    candidate.choice = mesh.space.first_mirror(candidate.choice, mesh.bound->order());
    tree.take(candidate);
  }
  compile_all(task, meshes, tree, findings, [&](double bound) { return findings.ranking.excludes(bound); });
  if (findings.is_stopped) add_at_least(task, meshes, tree.guess(), findings);
}

Findings find_fastest(const SearchTask& task, const MeshSpaces& meshes, SearchCounts counts) {
  Findings findings{LayoutRanking(task.options.top), {}, {}, {}, {}, counts, makes_fit(task)};
  const Batch plain = plain_candidates(task, meshes);
  Batch known = compile_plain(task, meshes, plain, findings);
  if (!findings.is_stopped && add_bounds(task, meshes)) {
    search_tree(task, meshes, std::move(known), findings);
  } else {
    findings.is_stopped = true;
    if (known.empty()) add_at_least(task, meshes, plain.front(), findings);
  }
  for (FoundLayout& found : findings.large) add_unfit(std::move(found), findings);
  findings.large.clear();
  return findings;
}

// Nothing fits, so that the layout that needs least as it is is looked for.
void find_smallest(const SearchTask& task, const MeshSpaces& meshes, Findings& findings) {
  findings.makes_fit = false;
  SearchTree tree(meshes, SearchGoal::kMemory, [](const LayoutBound&, RuleChoice) { return true; });
  compile_all(task, meshes, tree, findings, [&](double bound) {
    return findings.smallest && bound > static_cast<double>(findings.smallest->memory);
  });
}

// Counts the legal rule sets where there are not too many.
void count_legal(const SearchTask& task, const MeshSpaces& meshes, SearchCounts& counts) {
  int64_t legal = 0;
  for (const auto& mesh : meshes) {
    counts.rule_sets += mesh->space.rule_sets();
    if (legal > kMostCounted) continue;
    mesh->space.each([&](RuleChoice, bool is_mirrored) {
      if (is_mirrored) ++counts.mirrored;
      if (++legal % 4096 == 0 && task.options.stops()) legal = kMostCounted + 1;
      return legal <= kMostCounted;
    });
  }
  counts.meshes = static_cast<int64_t>(meshes.size());
  if (legal <= kMostCounted) counts.legal = legal;
}

SearchResult result_of(Findings findings) {
  SearchResult result;
  result.best = findings.ranking.best();
  result.shortest_s = findings.ranking.shortest();
  result.counts = findings.counts;
  result.is_complete = !findings.is_stopped;
  result.bound_s = result.best.empty() ? 0 : std::min(findings.bound, result.shortest_s);
  result.is_proved = result.is_complete || (!result.best.empty() && result.bound_s >= result.shortest_s);
  if (result.best.empty()) {
    result.smallest = std::move(findings.smallest);
  } else if (findings.too_large && findings.too_large->step_s < result.shortest_s) {
    result.too_large = std::move(findings.too_large);
  }
  return result;
}

}  // namespace

SearchResult search_layouts(const Model& model, const std::vector<Layout>& fixed, const Hardware& hardware,
                            const SearchOptions& options) {
  const StopScope scope(options.is_late);
  SearchCounts counts;
  try {
    const SearchTask task(model, hardware, options);
    const MeshSpaces meshes = search_meshes(task, fixed);
    count_legal(task, meshes, counts);
    Findings findings = find_fastest(task, meshes, counts);
    if (findings.ranking.best().empty() && !findings.is_stopped) find_smallest(task, meshes, findings);
    SearchResult result = result_of(std::move(findings));
    if (result.best.empty()) return result;
    result.devices = result.best.front().layout.mesh.devices();
    result.fewer = on_fewer_devices(task, result.best.front());
    return result;
  } catch (const Stopped&) {
    // There was no time even for the first layout.
    SearchResult nothing;
    nothing.counts = counts;
    return nothing;
  }
}

}  // namespace mtfc
