#pragma once
// Lets the backward pass compute again what the forward pass makes in certain regions, so that it need not be kept
// (Chen et al. 2016). A region is what a call of a block with "recompute" has made. Kept are the tensors that come into
// a region and those that leave it for the rest of the forward pass or for the caller; the backward pass reads copies
// of all others. Single tensors may be named as well. A pass of its own does the same with cheap tensors
// (core/rewrite/cheap_tensors.h), before. A copy is made right before the first node that reads
// it, and only if some node does. Random numbers are those of the forward pass.
//
//   region: a = einsum(x, w); b = relu(a); y = einsum(b, v)      dv = einsum(dy, b); da = where(a > 0, …)
//   ->  … a/again = einsum(x, w); b/again = relu(a/again); dv = einsum(dy, b/again); da = where(a/again > 0, …)

#include <set>
#include <string>

#include "core/graph/entry_graph.h"

namespace mtfc {

/// Gradients must have been expanded, here and below.
EntryGraph recompute_cheap(EntryGraph entry);

/// `named`: further forward tensors that the backward pass computes again; names of
/// other tensors mean nothing. Without either, the entry stays as it is.
EntryGraph recompute(EntryGraph entry, const std::set<std::string, std::less<>>& named);

}  // namespace mtfc
