#include "core/op_rules/normalization_rules.h"

namespace mtfc::layer_norm_composite {

extern const CompositeDef kComposite = normalization(
    "layer_norm",
    "The elements minus their mean, divided by the square root of their variance, over the given dimensions.",
    true);

}  // namespace mtfc::layer_norm_composite
