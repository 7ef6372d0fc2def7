#pragma once
// `shard_state_over`, of a layout or a model: splits the optimizer's state and updates over axes that the layout's
// rules leave unused (Rajbhandari et al. 2020, ZeRO). A reduce_scatter then delivers a gradient, each device updates
// its shard, and an all_gather brings the variable's new value to all. With `"shard_gradients": false`, the sums over
// microbatches are never split, however little memory there is. With `shard_variables`, the variables are split
// alike, and gathered where they are needed. So are, in any case, f32 variables that are only read in bf16: each is the
// master, which updates need, of the copy that devices gather. `regather` names variables that the backward pass
// gathers again, so that the copies that the forward pass has gathered need not be kept (core/rewrite/regather.h).
//
// Example: batch:rows leaves w[io=6, hidden=8] whole. With the state split over rows, w/adam_m, w/adam_v,
// w/grad and everything that an update computes from them are split hidden/rows, and so is w if variables are.

#include <functional>
#include <set>
#include <string>

#include "core/graph/graph.h"
#include "core/model/annotations.h"
#include "core/model/model.h"
#include "core/tensors/layout.h"

namespace mtfc {

struct StateSplit {
  AxisList axes;  // only axes longer than 1; if there is none, all tensors follow the rules
  std::set<std::string, std::less<>> names;            // tensors by their name or by that of their origin
  std::set<std::string, std::less<>> regathered = {};  // variables
};

/// The axes of the layout, if it states any, replace those of the model. Throws UserError for an axis that the mesh
/// lacks, and for a pattern of `regather` that matches no variable. Without a mesh, nothing is split.
/// `of_microbatches`: the gradients that each microbatch gives are split as well.
StateSplit state_split(const Model& model, const Layout& layout, bool of_microbatches = false);

/// Throws UserError for a dimension of a gradient or of a variable's state that `split` takes part in splitting, and
/// that its axes do not divide.
void check_even(const StateSplit& split, const Model& model, const Layout& layout,
                const Annotations& annotations);

/// True if the tensor is to be split: a gradient, state or its initial value, or a tensor made in an update.
bool is_split_state(const StateSplit& split, const Graph& graph, const Tensor& tensor);

/// True if `shard_state_over` splits the variable, gradient or initial value of this name. Tensors that updates compute
/// have no names in the model.
bool is_split_state(const StateSplit& split, const std::string& name);

/// Adds those of the axes that `sharding` does not use yet to one dimension. Dimensions with an element for
/// each device are preferred, then those that are whole, then those with the largest shards; of equal ones,
/// the first is taken.
void split_state(const StateSplit& split, const Dims& dims, const Mesh& mesh, Sharding& sharding);

/// The sharding that the layout states of a tensor: that of its annotation, or that of the rules where `annotation` is
/// nullptr. If the tensor `is_state`, the axes that this leaves are used as `split` says, unless the annotation is the
/// tensor's own: such an annotation is complete.
Sharding stated_sharding(const Layout& layout, const TensorAnnotation* annotation, const Dims& dims,
                         const StateSplit& split, bool is_state);

/// The sharding that the rules state of a tensor of `graph` (Mesh-TensorFlow's semantics): the rules of its dimensions,
/// with nothing partial, and the split of the optimizer's state and updates. Axes of size 1 split nothing and are left
/// out. If a tensor made by the compiler would use an axis twice, only its first dimension keeps it. Example: with
/// batch:rows, x[batch, io] is x[batch/rows, io] and w[io, hidden] is whole.
Sharding rule_sharding(const Graph& graph, const Tensor& tensor, const Layout& layout,
                       const StateSplit& split);

}  // namespace mtfc
