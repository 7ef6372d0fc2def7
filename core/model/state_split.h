#pragma once
// `shard_state_over`: the optimizer's state and its updates are split over axes that the layout's rules leave
// unused (Rajbhandari et al. 2020, ZeRO). A gradient then comes by reduce_scatter, each device updates its
// part, and an all_gather brings the variable's new value to all.
//
// Example: batch:rows leaves w[io=6, hidden=8] whole; over rows, w/adam_m, w/adam_v, w/grad and all that an
// update makes of them are split hidden/rows.

#include <functional>
#include <set>
#include <string>

#include "core/graph/graph.h"
#include "core/model/model.h"
#include "core/tensors/layout.h"

namespace mtfc {

struct StateSplit {
  AxisList axes;                             // of sizes above 1; none: everything goes by the rules
  std::set<std::string, std::less<>> names;  // tensors by name or by the name of their origin
};

/// Throws UserError for an axis that the mesh lacks. Without a mesh there is nothing to split; `allow_uneven`
/// false: also for a dimension that the axes do not divide.
StateSplit state_split(const Model& model, const Layout& layout, bool allow_uneven);

/// Whether the split is for this tensor: a gradient, state or its initial value, or made in an update.
bool is_split_state(const StateSplit& split, const Graph& graph, const Tensor& tensor);

/// `sharding` with those of the axes that it does not use yet on the largest dimension that it leaves whole,
/// of equal ones the first; on the one of the largest shards where it leaves none whole that has a part for
/// each device.
void split_state(const StateSplit& split, const Dims& dims, const Mesh& mesh, Sharding& sharding);

}  // namespace mtfc
