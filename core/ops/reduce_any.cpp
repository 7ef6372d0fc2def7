#include "core/op_rules/reduction.h"

namespace mtfc::reduce_any_op {
extern const OpDef kOp = reduction({
    .name = "reduce_any",
    .doc = "True where any element over the given dimensions is true.",
    .infer = infer_bool_reduction,
    .kind = ReduceKind::kMax,
});

}  // namespace mtfc::reduce_any_op
