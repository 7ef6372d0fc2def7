#include "core/op_rules/example.h"
#include "core/op_rules/reduction.h"

namespace mtfc::reduce_min_op {
extern const OpDef kOp = reduction({
    .name = "reduce_min",
    .doc = "The smallest element over the given dimensions; NaN if one of them is NaN.",
    .infer = infer_number_reduction,
    .kind = ReduceKind::kMin,
    .more = {{{steps("batch=5 hidden=7", DType::kI32)}, {{"over", dims_of("batch=5")}}},
             {{steps("batch=5 hidden=7")}, {{"over", dims_of("hidden=7")}}}},
    .gradient = extremum_gradient,
});

}  // namespace mtfc::reduce_min_op
