#include "core/search/search_tree.h"

#include <algorithm>
#include <tuple>

#include "core/cost/cost.h"
#include "core/diagnostics/parallel.h"
#include "core/diagnostics/stop.h"
#include "core/search/layout_ranking.h"

namespace mtfc {
namespace {

constexpr size_t kMostBranches = 12'000'000;  // each takes some 30 bytes
constexpr int64_t kPatience = 256;            // branches between two looks at whether to stop

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

CompileOptions compiling_for(const SearchOptions& options, const Hardware& hardware) {
  CompileOptions compiling;
  compiling.hardware = &hardware;
  compiling.allow_uneven = options.limits.allow_uneven;
  compiling.decode = options.limits.decodes;
  return compiling;
}

}  // namespace

SearchTask::SearchTask(const Model& searched, const Hardware& on, const SearchOptions& asked)
    : model(searched),
      hardware(on),
      options(asked),
      prepared(searched, compiling_for(asked, on)),
      parts(prepared.parts(asked.entry)) {}

void set_costs(const SearchTask& task, const Program& program, const std::vector<StepCount>& counts,
               FoundLayout& found) {
  const EntryPoint& entry = *program.find(task.options.entry);
  found.step_s = predicted_time(program, entry, counts, task.hardware).step_s;
  found.sent = found.flops = 0;
  for (const StepCount& count : counts) {
    found.sent += count.bytes_sent;
    found.flops += count.flops;
  }
}

MeshSpaces search_meshes(const SearchTask& task, const std::vector<Layout>& fixed) {
  MeshSpaces meshes;
  std::vector<Diagnostic> errors;
  std::vector<const Layout*> searched;
  for (const Layout& layout : fixed) {
    if (!meshes.empty() && task.options.stops()) break;
    if (std::any_of(searched.begin(), searched.end(),
                    [&](const Layout* other) { return are_mirrored(task, layout, *other); }))
      continue;
    try {
      task.prepared.compile(layout, {"init"});
      meshes.push_back(std::make_unique<MeshSpace>(
          SearchSpace(task.model, layout, task.hardware, task.options.limits), nullptr));
    } catch (const UserError& error) {
      for (const Diagnostic& diagnostic : error.diagnostics()) errors.push_back(diagnostic);
      continue;
    }
    searched.push_back(&layout);
  }
  if (meshes.empty()) throw UserError(std::move(errors));
  return meshes;
}

bool add_bounds(const SearchTask& task, const MeshSpaces& meshes) {
  const std::string& entry = task.options.entry;
  Program alone;
  try {
    const StopScope scope(task.options.stops);
    check_stop();
    alone = task.prepared.compile({}, {entry});
  } catch (const Stopped&) {
    return false;
  }
  each_in_parallel(meshes.size(), task.options.threads, [&](size_t m) {
    if (task.options.stops()) return;
    MeshSpace& mesh = *meshes[m];
    mesh.bound =
        std::make_unique<LayoutBound>(mesh.space, task.model, task.hardware, alone, task.parts, entry);
    mesh.bound->fill(task.options.stops);
  });
  return std::all_of(meshes.begin(), meshes.end(), [](const auto& mesh) { return mesh->bound != nullptr; });
}

SearchTree::SearchTree(const MeshSpaces& meshes, SearchGoal goal, MayFit may_fit)
    : meshes_(meshes), goal_(goal), may_fit_(std::move(may_fit)) {
  for (size_t m = 0; m < meshes_.size(); ++m) {
    const std::vector<uint16_t> nothing(meshes_[m]->space.dims().size(), kUndecided);
    const double bound = bound_of(*meshes_[m], nothing);
    if (may_fit_(*meshes_[m]->bound, nothing)) push({bound, 0, 0, 0, static_cast<uint16_t>(m), 0});
  }
}

double SearchTree::bound_of(const MeshSpace& mesh, RuleChoice choice) const {
  const double bound = goal_ == SearchGoal::kTime ? mesh.bound->seconds(choice) : mesh.bound->bytes(choice);
  return bound * (1 - kLayoutRounding);
}

// Of equal bounds, the branch with more decided dimensions comes first, then the one with fewer rules.
bool SearchTree::comes_later(uint32_t a, uint32_t b) const {
  const auto key = [&](uint32_t i) {
    const Branch& branch = branches_[i];
    return std::tuple(branch.bound, -static_cast<int>(branch.depth), branch.rules, i);
  };
  return key(a) > key(b);
}

void SearchTree::push(const Branch& branch) {
  branches_.push_back(branch);
  open_.push_back(static_cast<uint32_t>(branches_.size() - 1));
  std::push_heap(open_.begin(), open_.end(), [&](uint32_t a, uint32_t b) { return comes_later(a, b); });
}

uint32_t SearchTree::pop() {
  std::pop_heap(open_.begin(), open_.end(), [&](uint32_t a, uint32_t b) { return comes_later(a, b); });
  const uint32_t first = open_.back();
  open_.pop_back();
  return first;
}

std::vector<uint16_t> SearchTree::choice_of(uint32_t at) const {
  const MeshSpace& mesh = *meshes_[branches_[at].mesh];
  std::vector<uint16_t> choice(mesh.space.dims().size(), kUndecided);
  for (; branches_[at].depth > 0; at = branches_[at].parent)
    choice[mesh.bound->order()[branches_[at].depth - 1U]] = branches_[at].option;
  return choice;
}

template <typename Visit>
void SearchTree::each_option(const MeshSpace& mesh, std::vector<uint16_t>& choice, size_t depth,
                             const Visit& visit) const {
  const std::vector<size_t>& order = mesh.bound->order();
  const size_t dim = order[depth];
  for (size_t option = 0; option < mesh.space.dims()[dim].options.size(); ++option) {
    const auto chosen = static_cast<uint16_t>(option);
    const bool is_legal = mesh.space.is_possible(dim, chosen) &&
                          std::all_of(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(depth),
                                      [&](size_t d) { return mesh.space.agree(d, choice[d], dim, chosen); });
    if (!is_legal) continue;
    choice[dim] = chosen;
    if (!mesh.space.has_earlier_mirror(choice, order) && may_fit_(*mesh.bound, choice))
      visit(chosen, bound_of(mesh, choice));
    choice[dim] = kUndecided;
  }
}

std::optional<Candidate> SearchTree::next(const std::function<bool(double bound)>& excludes,
                                          const std::function<bool()>& stops) {
  while (!open_.empty() && !excludes(branches_[open_.front()].bound) && !is_full()) {
    if (++visited_ % kPatience == 0 && stops()) return std::nullopt;
    const uint32_t at = pop();
    const Branch branch = branches_[at];
    const MeshSpace& mesh = *meshes_[branch.mesh];
    std::vector<uint16_t> choice = choice_of(at);
    if (branch.depth == choice.size()) {
      const double least_s = mesh.bound->seconds(choice) * (1 - kLayoutRounding);
      Candidate candidate{branch.mesh, std::move(choice), branch.bound, least_s};
      if (take(candidate)) return candidate;
      continue;
    }
    each_option(mesh, choice, branch.depth, [&](uint16_t option, double bound) {
      push({std::max(bound, branch.bound), at, option, static_cast<uint16_t>(branch.depth + 1), branch.mesh,
            static_cast<uint16_t>(branch.rules + (option > 0 ? 1 : 0))});
    });
  }
  return std::nullopt;
}

std::optional<Candidate> SearchTree::guess() const {
  if (open_.empty()) return std::nullopt;
  const Branch& from = branches_[open_.front()];
  Candidate candidate{from.mesh, choice_of(open_.front()), from.bound, 0};
  const MeshSpace& mesh = *meshes_[from.mesh];
  for (size_t depth = from.depth; depth < candidate.choice.size(); ++depth) {
    std::optional<std::pair<double, uint16_t>> best;
    each_option(mesh, candidate.choice, depth, [&](uint16_t option, double bound) {
      if (!best || bound < best->first) best = {bound, option};
    });
    if (!best) return std::nullopt;
    candidate.choice[mesh.bound->order()[depth]] = best->second;
    candidate.bound = std::max(candidate.bound, best->first);
  }
  return candidate;
}

std::optional<double> SearchTree::least() const {
  return open_.empty() ? std::nullopt : std::optional(branches_[open_.front()].bound);
}

bool SearchTree::is_full() const {
  return branches_.size() >= kMostBranches;
}

}  // namespace mtfc
