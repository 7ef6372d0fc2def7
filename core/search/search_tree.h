#pragma once
// The rule sets of a search as a tree: at each level one more dimension is decided. A branch is followed in the order
// of its lower bound (core/search/layout_bound.h), which holds for all rule sets in it, so that most branches are never
// entered.
//
//   mesh rows:2      batch whole  1.9
//                    batch:rows   1.0    io whole  1.2   ...
//                                        io:rows   1.0   <- next

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/compile/pipeline.h"
#include "core/search/layout_bound.h"
#include "core/search/layout_search.h"
#include "core/search/search_space.h"

namespace mtfc {

/// A search as it was asked for. The references must outlive it.
struct SearchTask {
  const Model& model;
  const Hardware& hardware;
  const SearchOptions& options;
  PreparedModel prepared;
  std::vector<PreparedModel::Part> parts;  // of the entry point that is timed

  SearchTask(const Model& searched, const Hardware& on, const SearchOptions& asked);
};

/// Sets the predicted time of a step, what it sends and what it computes, of a layout that was compiled to `program`.
/// `counts` are those of the entry point that is timed.
void set_costs(const SearchTask& task, const Program& program, const std::vector<StepCount>& counts,
               FoundLayout& found);

/// The rule sets of one mesh, and their bounds once add_bounds() has found them.
struct MeshSpace {
  SearchSpace space;
  std::unique_ptr<LayoutBound> bound;
};
using MeshSpaces = std::vector<std::unique_ptr<MeshSpace>>;

/// The meshes of `fixed` on which its rules are legal, but for those that are mirror images of others; only the first
/// of them if the search is stopped. Throws UserError if there is none.
MeshSpaces search_meshes(const SearchTask& task, const std::vector<Layout>& fixed);

/// Finds the bounds of all meshes. Returns false if the search was stopped before that; then some have none.
bool add_bounds(const SearchTask& task, const MeshSpaces& meshes);

/// A complete rule set.
struct Candidate {
  size_t mesh = 0;
  std::vector<uint16_t> choice;
  double bound = 0;    // of what the tree is ordered by
  double least_s = 0;  // no program for it takes less

  Layout layout(const MeshSpaces& meshes) const { return meshes[mesh]->space.layout(choice); }
};

enum class SearchGoal { kTime, kMemory };

class SearchTree {
 public:
  /// Says if a rule set with these options may fit into memory.
  using MayFit = std::function<bool(const LayoutBound& bound, RuleChoice choice)>;
  /// Rule sets are bounded by their time or by their memory. All meshes must have bounds. The references must outlive
  /// the tree.
  SearchTree(const MeshSpaces& meshes, SearchGoal goal, MayFit may_fit);

  /// The next rule set in the order of bounds; nothing if there is none with a bound that is not excluded, or if
  /// `stops`. No rule set comes twice.
  std::optional<Candidate> next(const std::function<bool(double bound)>& excludes,
                                const std::function<bool()>& stops);
  /// A rule set found by following the most promising branch alone. It may have come before.
  std::optional<Candidate> guess() const;
  /// True if the rule set was not taken before.
  bool take(const Candidate& candidate) { return taken_.emplace(candidate.mesh, candidate.choice).second; }

  /// The least bound of what has not come yet; nothing if everything has.
  std::optional<double> least() const;
  /// Branches that were looked at.
  int64_t visited() const { return visited_; }
  /// True if there are more branches than memory for them.
  bool is_full() const;

 private:
  struct Branch {
    double bound = 0;
    uint32_t parent = 0;
    uint16_t option = 0, depth = 0, mesh = 0, rules = 0;
  };

  bool comes_later(uint32_t a, uint32_t b) const;
  std::vector<uint16_t> choice_of(uint32_t branch) const;
  void push(const Branch& branch);
  uint32_t pop();
  /// Calls `visit` with the bound of each legal option of the next dimension.
  template <typename Visit>
  void each_option(const MeshSpace& mesh, std::vector<uint16_t>& choice, size_t depth,
                   const Visit& visit) const;
  double bound_of(const MeshSpace& mesh, RuleChoice choice) const;

  const MeshSpaces& meshes_;
  SearchGoal goal_;
  MayFit may_fit_;
  std::vector<Branch> branches_;
  std::vector<uint32_t> open_;  // a heap
  std::set<std::pair<size_t, std::vector<uint16_t>>> taken_;
  int64_t visited_ = 0;
};

}  // namespace mtfc
