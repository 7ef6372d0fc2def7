#include "core/op_rules/example.h"
#include "core/op_rules/operation_rules.h"
#include "core/op_rules/reduction.h"

namespace mtfc::reduce_sum_op {
namespace {

std::vector<TensorId> gradient(GraphBuilder& b, const Node& node, std::span<const TensorId> gradients) {
  if (!is_float(b.type(node.operands[0]).dtype)) return {kNoTensor};
  const Dims dims = b.dims(node.operands[0]);
  return {spread_to(b, gradients[0], dims)};
}

}  // namespace

extern const OpDef kOp = reduction({
    .name = "reduce_sum",
    .doc = "The sum over the given dimensions, also of integers.",
    .infer = infer_number_reduction,
    .kind = ReduceKind::kSum,
    .more = {{{steps("batch=5 hidden=7", DType::kI32)}, {{"over", dims_of("batch=5")}}}},
    .linear_in = {{0}},
    .gradient = gradient,
});

}  // namespace mtfc::reduce_sum_op
