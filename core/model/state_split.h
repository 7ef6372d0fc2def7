#pragma once
// `shard_state_over`: splits the optimizer's state and updates over axes that the layout's rules leave unused
// (Rajbhandari et al. 2020, ZeRO). A reduce_scatter then delivers a gradient, each device updates its shard,
// and an all_gather brings the variable's new value to all.
//
// Example: batch:rows leaves w[io=6, hidden=8] whole. With the state split over rows, w/adam_m, w/adam_v,
// w/grad and everything that an update computes from them are split hidden/rows.

#include <functional>
#include <set>
#include <string>

#include "core/graph/graph.h"
#include "core/model/model.h"
#include "core/tensors/layout.h"

namespace mtfc {

struct StateSplit {
  AxisList axes;  // only axes longer than 1; if there is none, all tensors follow the rules
  std::set<std::string, std::less<>> names;  // tensors by their name or by that of their origin
};

/// Throws UserError for an axis that the mesh lacks and, unless `allow_uneven`, for a dimension that the axes
/// do not divide. Without a mesh, nothing is split.
StateSplit state_split(const Model& model, const Layout& layout, bool allow_uneven);

/// True if the tensor is to be split: a gradient, state or its initial value, or a tensor made in an update.
bool is_split_state(const StateSplit& split, const Graph& graph, const Tensor& tensor);

/// False if the tensor's own annotation gives its whole sharding. What it has from its variable, or from rules, leaves
/// the other axes to be used.
bool leaves_state_to_be_split(const TensorAnnotation& annotation);

/// Adds those of the axes that `sharding` does not use yet to one dimension. Dimensions with an element for
/// each device are preferred, then those that are whole, then those with the largest shards; of equal ones,
/// the first is taken.
void split_state(const StateSplit& split, const Dims& dims, const Mesh& mesh, Sharding& sharding);

}  // namespace mtfc
