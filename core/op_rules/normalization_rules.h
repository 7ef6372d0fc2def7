#pragma once
// Rules shared by layer_norm and rms_norm in core/composites/.
//
// Both only normalize; a model adds scale and bias by operations of its own. Both expand to means of the
// values and of their squares, so a split dimension costs all_reduces of sums, and nothing is gathered.

#include <string_view>

#include "core/graph/op_def.h"

namespace mtfc {

/// d / sqrt(mean(square(d)) + eps) over the given dimensions, where d is x, or with `centred` x minus its mean.
CompositeDef normalization(std::string_view name, std::string_view doc, bool centred);

}  // namespace mtfc
