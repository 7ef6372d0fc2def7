#include "core/search/layout_search.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>
#include <tuple>
#include <utility>

#include "core/cost/cost.h"
#include "core/cost/device_order.h"
#include "core/search/search_candidates.h"

namespace mtfc {
namespace {

constexpr size_t kBatch = 16;  // compiled between two looks at the bound, whatever the threads

// The findings of the search so far.
struct Findings {
  LayoutRanking ranking;                 // of layouts that fit
  std::optional<FoundLayout> too_large;  // the fastest that does not fit
  std::optional<FoundLayout> smallest;   // the smallest that does not fit
  SearchCounts counts;
  bool is_stopped = false;
};

bool fits(const SearchTask& task, double bytes) {
  return task.options.memory_limit == 0 || bytes <= static_cast<double>(task.options.memory_limit);
}

// A bound, less what it may have gained by rounding.
double least_bytes(const SearchCandidate& candidate) {
  return candidate.bytes * (1 - kLayoutRounding);
}

// -- compiling --

struct CompiledLayout {
  bool is_legal = false;
  std::optional<FoundLayout> found;  // nothing if it can't be one of the best
};

// The largest arena of all entry points. `program` has only the one that is timed.
int64_t memory_of(const SearchTask& task, const Program& program) {
  std::vector<std::string> others;
  for (const char* name : {"init", "train", "evaluate", "decode"})
    if (name != task.options.entry) others.emplace_back(name);
  return std::max(program.arena_bytes(), task.prepared.compile(program.layout, others).arena_bytes());
}

// The other entry points matter by their memory alone, so they are compiled only if the step is short enough.
CompiledLayout compile_layout(const SearchTask& task, Layout layout, const LayoutRanking& ranking) {
  std::optional<Program> program;
  try {
    program = task.prepared.compile(layout, {task.options.entry});
  } catch (const UserError&) {
    return {};
  }
  const EntryPoint& entry = *program->find(task.options.entry);
  const std::vector<StepCount> counts = predicted_counts(*program, entry);
  FoundLayout found{std::move(layout)};
  found.step_s = predicted_time(*program, entry, counts, task.hardware).step_s;
  if (const auto order = propose_device_order(*program, entry, counts, task.hardware)) {
    found.layout.mesh = Mesh(found.layout.mesh.axes(), order->device_order);
    found.step_s = order->step_s;
  }
  if (ranking.excludes(found.step_s)) return {true, std::nullopt};
  for (const StepCount& count : counts) {
    found.sent += count.bytes_sent;
    found.flops += count.flops;
  }
  found.memory = memory_of(task, *program);
  return {true, std::move(found)};
}

using Batch = std::vector<const SearchCandidate*>;

struct CompiledBatch {
  std::vector<std::optional<CompiledLayout>> layouts;  // nothing for those left when the search was stopped
  bool is_stopped = false;
};

CompiledBatch compile_batch(const SearchTask& task, const CandidateSet& set, const Batch& batch,
                            const LayoutRanking& ranking) {
  CompiledBatch compiled{std::vector<std::optional<CompiledLayout>>(batch.size())};
  std::vector<std::exception_ptr> errors(batch.size());
  std::atomic<size_t> next = 0;
  std::atomic<bool> is_stopped = false;
  const auto work = [&] {
    for (size_t i = next++; i < batch.size(); i = next++) {
      if (is_stopped || task.options.stops()) {
        is_stopped = true;
        return;
      }
      try {
        compiled.layouts[i] = compile_layout(task, set.layout(*batch[i]), ranking);
      } catch (...) {
        errors[i] = std::current_exception();
      }
    }
  };
  {
    std::vector<std::jthread> threads;
    for (size_t t = 1; t < std::min(task.options.threads, batch.size()); ++t) threads.emplace_back(work);
    work();
  }
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
  compiled.is_stopped = is_stopped;
  return compiled;
}

void add(const SearchTask& task, CompiledLayout compiled, Findings& findings) {
  --findings.counts.left;
  ++findings.counts.compiled;
  if (!compiled.is_legal) ++findings.counts.refused;
  if (!compiled.found) return;
  FoundLayout& found = *compiled.found;
  if (fits(task, static_cast<double>(found.memory))) return findings.ranking.add(std::move(found));
  ++findings.counts.too_large;
  std::optional<FoundLayout>&fastest = findings.too_large, &smallest = findings.smallest;
  const auto key = [](const FoundLayout& one) { return std::tuple(one.memory, one.step_s); };
  if (!smallest || key(found) < key(*smallest)) smallest = found;
  if (!fastest || is_better(found, *fastest)) fastest = std::move(found);
}

// Compiles candidates in their order, a batch at a time, until `take`, which looks at what has been found, gives
// no more of them.
template <typename Take>
void compile_all(const SearchTask& task, const CandidateSet& set, Findings& findings, const Take& take) {
  while (!findings.is_stopped) {
    Batch batch;
    while (batch.size() < kBatch) {
      const SearchCandidate* candidate = take();
      if (!candidate) break;
      batch.push_back(candidate);
    }
    if (batch.empty()) return;
    CompiledBatch compiled = compile_batch(task, set, batch, findings.ranking);
    findings.is_stopped = compiled.is_stopped;
    for (std::optional<CompiledLayout>& layout : compiled.layouts)
      if (layout) add(task, std::move(*layout), findings);
    const std::vector<FoundLayout>& best = findings.ranking.layouts();
    task.options.progress(findings.counts, best.empty() ? nullptr : &best.front());
  }
}

// -- the two searches --

// Counts the candidates from `next` on as `reason` and done.
void leave_out(const CandidateSet& set, size_t& next, int64_t& reason, SearchCounts& counts) {
  const auto rest = static_cast<int64_t>(set.candidates.size() - next);
  reason += rest;
  counts.left -= rest;
  next = set.candidates.size();
}

Findings find_fastest(const SearchTask& task, CandidateSet& set) {
  Findings findings{LayoutRanking(task.options.top), {}, {}, set.counts, set.is_stopped};
  SearchCounts& counts = findings.counts;
  std::vector<SearchCandidate>& candidates = set.candidates;
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const SearchCandidate& a, const SearchCandidate& b) {
                     return std::tuple(a.seconds, a.rules) < std::tuple(b.seconds, b.rules);
                   });
  size_t next = 0;
  compile_all(task, set, findings, [&]() -> const SearchCandidate* {
    for (; next < candidates.size(); ++next) {
      if (findings.ranking.excludes(candidates[next].seconds)) {
        leave_out(set, next, counts.no_better, counts);
        return nullptr;
      }
      if (fits(task, least_bytes(candidates[next]))) return &candidates[next++];
      ++counts.too_large;
      --counts.left;
    }
    return nullptr;
  });
  return findings;
}

// Nothing fits. The layout that needs least is among those that were compiled, or among those that were not because
// their variables alone are too large.
void find_smallest(const SearchTask& task, CandidateSet& set, Findings& findings) {
  SearchCounts& counts = findings.counts;
  std::vector<SearchCandidate>& candidates = set.candidates;
  std::erase_if(candidates, [&](const SearchCandidate& one) { return fits(task, least_bytes(one)); });
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const SearchCandidate& a, const SearchCandidate& b) {
                     return std::tuple(a.bytes, a.seconds, a.rules) < std::tuple(b.bytes, b.seconds, b.rules);
                   });
  counts.too_large -= static_cast<int64_t>(candidates.size());
  counts.left += static_cast<int64_t>(candidates.size());
  size_t next = 0;
  compile_all(task, set, findings, [&]() -> const SearchCandidate* {
    if (next == candidates.size()) return nullptr;
    const std::optional<FoundLayout>& smallest = findings.smallest;
    if (!smallest || least_bytes(candidates[next]) <= static_cast<double>(smallest->memory))
      return &candidates[next++];
    leave_out(set, next, counts.too_large, counts);
    return nullptr;
  });
}

SearchResult result_of(Findings findings) {
  SearchResult result;
  result.best = std::move(findings.ranking).layouts();
  result.counts = findings.counts;
  result.is_proved = !findings.is_stopped;
  if (result.best.empty()) {
    result.smallest = std::move(findings.smallest);
  } else if (findings.too_large && findings.too_large->step_s < result.best.front().step_s) {
    result.too_large = std::move(findings.too_large);
  }
  return result;
}

}  // namespace

SearchResult search_layouts(const Model& model, const std::vector<Layout>& fixed, const Hardware& hardware,
                            const SearchOptions& options) {
  const SearchTask task = search_task(model, hardware, options);
  CandidateSet set = gather_candidates(task, fixed);
  Findings findings = find_fastest(task, set);
  if (findings.ranking.layouts().empty() && !findings.is_stopped) find_smallest(task, set, findings);
  return result_of(std::move(findings));
}

}  // namespace mtfc
