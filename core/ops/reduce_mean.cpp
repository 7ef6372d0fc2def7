#include "core/op_rules/example.h"
#include "core/op_rules/operation_rules.h"
#include "core/op_rules/reduction.h"

namespace mtfc::reduce_mean_op {
namespace {

std::vector<TensorId> gradient(GraphBuilder& b, const Node& node, std::span<const TensorId> gradients) {
  const TensorType from = b.type(node.operands[0]);
  const int64_t averaged = elements(from.dims) / elements(b.dims(node.results[0]));
  const TensorId count = b.constant(static_cast<double>(averaged), from.dtype);
  return {spread_to(b, b.op("div", {gradients[0], count}), from.dims)};
}

std::vector<WorkedExample> worked_examples() {
  return {worked({known("batch=2 hidden=3", {1, 2, 3, 4, 5, 9})}, {{"over", dims_of("hidden=3")}}, {{2, 6}})};
}

}  // namespace

extern const OpDef kOp = reduction({
    .name = "reduce_mean",
    .doc = "The mean over the given dimensions.",
    .infer = infer_float_reduction,
    .kind = ReduceKind::kSum,
    .worked = worked_examples(),
    .linear_in = {{0}},
    .gradient = gradient,
    .traits = {.averages = true},
});

}  // namespace mtfc::reduce_mean_op
