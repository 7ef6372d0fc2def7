#pragma once
// Finds the layout with the shortest predicted step among all rule sets on some meshes, under a limit of memory.
//
// A layout that does not fit may be made to fit by computing tensors again, by a quick choice of these
// (FitEffort::kLittle). It then competes with its predicted step.
//
// The layouts that a person would try first are compiled before all others (core/search/plain_layouts.h).
//
// The search is exact. It decides one dimension after the other and follows the branch with the least lower bound
// (core/search/search_tree.h); where all are decided, the layout is compiled and timed. The search ends when the bound
// of everything that is left passes what has been found. The result does not depend on the number of threads.
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
  /// Mirror images and refused ones included; nothing if there are too many to count.
  std::optional<int64_t> legal;
  int64_t mirrored = 0;  // legal ones that are left out because another one costs the same
  int64_t meshes = 0;    // that were searched
  int64_t visited = 0;   // branches of the search
  int64_t compiled = 0;
  int64_t refused = 0;    // compiled ones that are not legal after all
  int64_t too_large = 0;  // compiled ones over the memory limit
  int64_t fitted = 0;     // of these, those that were made to fit

  /// Legal ones that were not compiled, because another one costs the same, because of their bounds, or because the
  /// search was stopped.
  std::optional<int64_t> left_out() const {
    return legal ? std::optional(*legal - mirrored - compiled) : std::nullopt;
  }
};

struct SearchOptions {
  SpaceLimits limits;
  std::string entry;         // the entry point to time, which the model must have
  int64_t memory_limit = 0;  // bytes per device; 0: none
  /// A training step that does not fit is made to fit (core/compile/fit_memory.h), if a quick choice can.
  bool makes_fit = false;
  size_t top = 5;  // families of layouts to find, 1 or more
  size_t threads = 1;
  std::function<bool()> stops = [] { return false; };
  /// True if a search that was stopped has no time even for what gives it a result.
  std::function<bool()> is_late = [] { return false; };
  struct Progress {
    const SearchCounts& counts;
    const FoundLayout* best;  // nullptr until one is found
    double bound_s;           // no layout is faster
  };
  std::function<void(const Progress&)> progress = [](const Progress&) {};  // called after every few layouts
};

struct SearchResult {
  /// The best families (core/search/layout_ranking.h); at most `top`.
  std::vector<FoundLayout> best;
  std::optional<FoundLayout> too_large;  // the fastest seen that does not fit, if it beats the best
  std::optional<FoundLayout> smallest;   // the one that needs least memory, if nothing fits
  /// The first of the best on fewer devices, if it is as fast there (core/search/fewer_devices.h).
  std::optional<FoundLayout> fewer;
  int64_t devices = 0;  // of the first of the best
  SearchCounts counts;
  bool is_proved = false;    // no layout that fits is faster than the shortest step found
  bool is_complete = false;  // nor is there another family among the best; false if the search was stopped
  double shortest_s = 0;     // the shortest step found, which may be that of a variant
  double bound_s = 0;  // no layout that fits is faster; 0 if the search was stopped before it had a bound
  /// The part of the shortest step by which another layout could be faster at most.
  double gap() const { return shortest_s > 0 ? 1 - bound_s / shortest_s : 0; }
};

/// Searches the meshes of `fixed`, and keeps its rules. A mesh that is the mirror image of another is left out.
/// Throws UserError if none of `fixed` is legal, and for hardware that lacks a link.
SearchResult search_layouts(const Model& model, const std::vector<Layout>& fixed, const Hardware& hardware,
                            const SearchOptions& options);

}  // namespace mtfc
