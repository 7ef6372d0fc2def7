#include "core/search/search_candidates.h"

#include <algorithm>
#include <utility>

namespace mtfc {
namespace {

constexpr size_t kMostCandidates = 4'000'000;  // each takes some 50 bytes
constexpr int64_t kMostLegal = 100'000'000;    // some half a minute to go through
constexpr int64_t kPatience = 1 << 16;         // rule sets between two looks at whether to stop

// True if the meshes are the same except for the order of interchangeable axes.
bool are_mirrored(const SearchTask& task, const Layout& a, const Layout& b) {
  std::vector<Axis> one = a.mesh.axes(), other = b.mesh.axes();
  if (one.size() != other.size() || !a.mesh.device_order().empty() || !b.mesh.device_order().empty())
    return false;
  for (const AxisList& kind : alike_axes(task.model, a, task.hardware))
    for (std::vector<Axis>* axes : {&one, &other}) {
      std::vector<int64_t> sizes;
      for (const int axis : kind) sizes.push_back((*axes)[static_cast<size_t>(axis)].size);
      std::sort(sizes.begin(), sizes.end());
      for (size_t i = 0; i < kind.size(); ++i) (*axes)[static_cast<size_t>(kind[i])].size = sizes[i];
    }
  return one == other;
}

void add_candidate(RuleChoice choice, CandidateSet& set) {
  const auto rules = std::count_if(choice.begin(), choice.end(), [](uint16_t one) { return one > 0; });
  const LayoutBound& bound = set.meshes.back()->bound;
  set.candidates.push_back({bound.seconds(choice), bound.bytes(choice),
                            static_cast<uint32_t>(set.meshes.size() - 1), static_cast<uint32_t>(rules),
                            set.choices.size()});
  set.choices.insert(set.choices.end(), choice.begin(), choice.end());
}

// Adds the rule sets of the last mesh.
void add_candidates(const SearchTask& task, CandidateSet& set) {
  const SearchSpace& space = set.meshes.back()->space;
  SearchCounts& counts = set.counts;
  counts.rule_sets += space.rule_sets();
  space.each([&](RuleChoice choice, bool is_mirrored) {
    if (++counts.legal > kMostLegal || set.candidates.size() == kMostCandidates)
      throw UserError("there are too many rule sets to search",
                      "limit them with --dims or --max-axes-per-dim, or fix rules with --layout");
    if (counts.legal % kPatience == 0) set.is_stopped = task.options.stops();
    if (is_mirrored)
      ++counts.mirrored;
    else
      add_candidate(choice, set);
    return !set.is_stopped;
  });
}

}  // namespace

SearchTask search_task(const Model& model, const Hardware& hardware, const SearchOptions& options) {
  CompileOptions compiling;
  compiling.allow_uneven = options.limits.allow_uneven;
  compiling.decode = options.limits.decodes;
  return {model, hardware, options, PreparedModel(model, compiling)};
}

MeshSpace::MeshSpace(const SearchTask& task, const Layout& fixed, const Program& alone)
    : space(task.model, fixed, task.hardware, task.options.limits),
      bound(space, task.model, alone, *alone.find(task.options.entry), task.hardware) {}

Layout CandidateSet::layout(const SearchCandidate& candidate) const {
  const SearchSpace& space = meshes[candidate.mesh]->space;
  return space.layout({choices.data() + candidate.choice, space.dims().size()});
}

CandidateSet gather_candidates(const SearchTask& task, const std::vector<Layout>& fixed) {
  const Program alone = task.prepared.compile({});
  CandidateSet set;
  std::vector<Diagnostic> errors;
  std::vector<const Layout*> searched;
  for (const Layout& layout : fixed) {
    if (set.is_stopped) break;
    if (std::any_of(searched.begin(), searched.end(),
                    [&](const Layout* other) { return are_mirrored(task, layout, *other); }))
      continue;
    try {
      task.prepared.compile(layout);
      set.meshes.push_back(std::make_unique<MeshSpace>(task, layout, alone));
    } catch (const UserError& error) {
      for (const Diagnostic& diagnostic : error.diagnostics()) errors.push_back(diagnostic);
      continue;
    }
    searched.push_back(&layout);
    add_candidates(task, set);
  }
  if (set.meshes.empty()) throw UserError(std::move(errors));
  set.counts.meshes = static_cast<int64_t>(set.meshes.size());
  set.counts.left = static_cast<int64_t>(set.candidates.size());
  return set;
}

}  // namespace mtfc
