#pragma once
// Finds out if a layout needs all of its devices. A small model has little to share out: where devices beyond the first
// few do the same work, or wait for each other, a step takes as long without them.
//
//   rows:2,cols:256 batch:rows   ->   rows:2 batch:rows, 2 devices in place of 512
//
// The axes that no rule names come first, since they make no difference; then each other axis is made as short as the
// step permits, by bisection over the divisors of its size. The result is as fast, but not proved to have the fewest
// devices.

#include <optional>

#include "core/search/layout_ranking.h"
#include "core/search/search_tree.h"

namespace mtfc {

/// The layout on fewer devices, if its step is at most kEquallyFast longer there, and fits; otherwise nothing. `best`
/// must be legal. Nothing for a layout that fits only because it computes tensors again.
std::optional<FoundLayout> on_fewer_devices(const SearchTask& task, const FoundLayout& best);

}  // namespace mtfc
