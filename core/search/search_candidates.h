#pragma once
// The candidates of a layout search: every legal rule set on every mesh, with the bounds that decide in which order
// they are compiled, and whether at all.

#include <cstdint>
#include <memory>
#include <vector>

#include "core/passes/pipeline.h"
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
};
SearchTask search_task(const Model& model, const Hardware& hardware, const SearchOptions& options);

/// The rule sets of one mesh, and their bounds.
struct MeshSpace {
  SearchSpace space;
  LayoutBound bound;
  /// `alone` is the model compiled for one device.
  MeshSpace(const SearchTask& task, const Layout& fixed, const Program& alone);
};

/// Small, as there may be millions.
struct SearchCandidate {
  double seconds = 0, bytes = 0;  // bounds
  uint32_t mesh = 0;              // index of CandidateSet::meshes
  uint32_t rules = 0;
  size_t choice = 0;  // index of CandidateSet::choices, where its options begin
};

struct CandidateSet {
  std::vector<std::unique_ptr<MeshSpace>> meshes;
  std::vector<SearchCandidate> candidates;
  std::vector<uint16_t> choices;  // of all candidates, one after the other
  SearchCounts counts;            // with all candidates left
  bool is_stopped = false;        // before they were complete

  Layout layout(const SearchCandidate& candidate) const;
};

/// The candidates on every mesh of `fixed` on which its rules are legal, but for meshes and rule sets that are mirror
/// images of others. Throws UserError if there is no such mesh, and for too many rule sets.
CandidateSet gather_candidates(const SearchTask& task, const std::vector<Layout>& fixed);

}  // namespace mtfc
