#pragma once
#include <vector>

#include "core/graph/entry_graph.h"
#include "core/tensors/mesh.h"
#include "core/tensors/sharding.h"

namespace mtfc {

/// How one node runs on the mesh.
struct Strategy {
  std::vector<Sharding> operands;  // needed, nothing partial
  std::vector<Sharding> results;   // as they come out, partial where a split dimension was reduced
};

/// Chooses for every node which axes split which of its factors: those of its tensors' shardings (`targets`, one per
/// tensor) where they agree; otherwise the cheapest assignment including the reshards of operands and results:
/// fewest bytes, then collectives, then most parallel, then first. Leaves and relabelling nodes get none.
/// Example: x[b/rows, k/cols] * w[k/cols, h] gives y[b/rows, h, sum over cols].
std::vector<Strategy> choose_strategies(const EntryGraph& entry, const std::vector<Sharding>& targets,
                                        const Mesh& mesh);

}  // namespace mtfc
