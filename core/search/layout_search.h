#pragma once
// Finds the layout with the shortest predicted step among all rule sets on some meshes, under a limit of memory.
//
// The search is exact. Candidates (core/search/search_candidates.h) come in the order of a lower bound of their step
// (core/search/layout_bound.h); each is compiled and timed, and the search ends when the bound passes what has been
// found. The result does not depend on the number of threads.
//
//   bound   1.0  1.0  1.2  1.3  1.9  2.4 ...
//   step    1.9  1.6  1.7  1.8  -- can't be better than 1.6, nor any that follow

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/cost/hardware.h"
#include "core/model/model.h"
#include "core/search/layout_ranking.h"
#include "core/search/search_space.h"
#include "core/tensors/layout.h"

namespace mtfc {

struct SearchCounts {
  double rule_sets = 0;  // on all meshes
  int64_t legal = 0;     // mirror images and refused ones included
  int64_t mirrored = 0;  // legal ones that are left out because another one costs the same
  int64_t meshes = 0;    // that were searched
  int64_t compiled = 0;
  int64_t refused = 0;    // compiled ones that are not legal after all
  int64_t too_large = 0;  // over the memory limit, when compiled or by their variables alone
  int64_t no_better = 0;  // not compiled, because of their lower bound
  int64_t left = 0;       // not looked at before the search was stopped

  /// Candidates that a search goes through.
  int64_t candidates() const { return legal - mirrored; }
  int64_t done() const { return candidates() - left; }
};

struct SearchOptions {
  SpaceLimits limits;
  std::string entry;         // the entry point to time, which the model must have
  int64_t memory_limit = 0;  // bytes per device; 0: none
  size_t top = 5;            // layouts to find, 1 or more
  size_t threads = 1;
  std::function<bool()> stops = [] { return false; };
  /// Called after every few candidates; the best is nullptr until one is found.
  std::function<void(const SearchCounts&, const FoundLayout* best)> progress = [](const auto&, auto*) {};
};

struct SearchResult {
  std::vector<FoundLayout> best;         // the best first, no two with the same figures; at most `top`
  std::optional<FoundLayout> too_large;  // the fastest seen that does not fit, if it beats the best
  std::optional<FoundLayout> smallest;   // the one that needs least memory, if nothing fits
  SearchCounts counts;
  bool is_proved = false;  // false if the search was stopped
};

/// Searches the meshes of `fixed`, and keeps its rules. A mesh that is the mirror image of another is left out.
/// Throws UserError if none of `fixed` is legal, for hardware that lacks a link, and if there are too many rule
/// sets.
SearchResult search_layouts(const Model& model, const std::vector<Layout>& fixed, const Hardware& hardware,
                            const SearchOptions& options);

}  // namespace mtfc
