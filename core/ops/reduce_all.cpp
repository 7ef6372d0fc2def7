#include "core/op_rules/reduction.h"

namespace mtfc::reduce_all_op {
extern const OpDef kOp = reduction({
    .name = "reduce_all",
    .doc = "True where all elements over the given dimensions are true.",
    .infer = infer_bool_reduction,
    .kind = ReduceKind::kMin,
});

}  // namespace mtfc::reduce_all_op
