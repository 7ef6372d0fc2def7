#include "core/op_rules/normalization_rules.h"

namespace mtfc::rms_norm_composite {

extern const CompositeDef kComposite = normalization(
    "rms_norm",
    "The elements divided by the square root of the mean of their squares over the given dimensions.", false);

}  // namespace mtfc::rms_norm_composite
