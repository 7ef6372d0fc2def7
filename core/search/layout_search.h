#pragma once
// The layout with the shortest predicted step of all rule sets on some meshes, under a limit of memory.
//
// Exact: candidates come in the order of a lower bound of their step (core/search/layout_bound.h), each is compiled
// and timed, and the search ends where the bound passes what has been found. What it gives does not depend on
// the number of threads.
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
  int64_t mirrored = 0;  // of those, left out: another one costs the same
  int64_t meshes = 0;    // that were searched
  int64_t compiled = 0;
  int64_t refused = 0;    // of those, not legal after all
  int64_t too_large = 0;  // more memory than there may be, compiled or by their variables alone
  int64_t no_better = 0;  // by their lower bound; not compiled
  int64_t left = 0;       // not looked at, where the search was stopped

  /// Candidates that a search goes through.
  int64_t candidates() const { return legal - mirrored; }
  int64_t done() const { return candidates() - left; }
};

struct SearchOptions {
  SpaceLimits limits;
  std::string entry;         // one that the model has
  int64_t memory_limit = 0;  // bytes per device; 0: none
  size_t top = 5;            // layouts to find, 1 or more
  size_t threads = 1;
  std::function<bool()> stops = [] { return false; };
  /// After some candidates each; the best may be missing yet.
  std::function<void(const SearchCounts&, const FoundLayout* best)> progress = [](const auto&, auto*) {};
};

struct SearchResult {
  std::vector<FoundLayout> best;         // the best first, of different figures; at most `top`
  std::optional<FoundLayout> too_large;  // the fastest seen that does not fit, where it beats the best
  std::optional<FoundLayout> smallest;   // what needs least, where nothing fits
  SearchCounts counts;
  bool is_proved = false;  // not where the search was stopped
};

/// Searches the meshes of `fixed`, whose rules stay; one that is the mirror image of another is left out.
/// Throws UserError where none of `fixed` is legal, for hardware that lacks a link, and where there are too
/// many rule sets.
SearchResult search_layouts(const Model& model, const std::vector<Layout>& fixed, const Hardware& hardware,
                            const SearchOptions& options);

}  // namespace mtfc
