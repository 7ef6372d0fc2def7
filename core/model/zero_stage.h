#pragma once
// The stages of ZeRO (Rajbhandari et al. 2020), as people name them. A stage says of which tensors the devices that
// share a batch no longer hold copies.
//
//   batch:all with stage 1   the state of the optimizer is split over `all`
//                  stage 2   gradients as well
//                  stage 3   variables as well, which are gathered anew for the backward pass
//
// With batch:data and length:context, it is split over both, as in Megatron.
//
// core/model/state_split.h says how tensors are split then.

#include <optional>

#include "core/model/model.h"
#include "core/tensors/layout.h"

namespace mtfc {

inline constexpr int kZeroStages = 4;  // the first of them, 0, splits nothing

/// The dimension of the batch: the first one of the first input that has any; nothing if there is none.
std::optional<Dim> batch_dim(const Model& model);

/// The dimensions of data: that of the batch, and the others of its input that no variable has, such as the length of
/// texts. Empty without a batch.
Dims data_dims(const Model& model);

/// The axes longer than 1 over which rules for all tensors split dimensions of data. Along them, devices compute the
/// same of different data, and hold copies of variables for it.
AxisList data_axes(const Model& model, const Layout& layout);

/// The layout with a stage of ZeRO over `axes`; if there are none, the layout itself.
Layout with_zero_stage(Layout layout, const AxisList& axes, int stage);

}  // namespace mtfc
