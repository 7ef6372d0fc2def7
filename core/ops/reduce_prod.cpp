#include "core/op_rules/example.h"
#include "core/op_rules/reduction.h"

namespace mtfc::reduce_prod_op {
namespace {

// An element's gradient is the product of the other elements. If no element is 0, that is the product of all
// divided by this one. If one is 0, it gets the product of the rest and the others get 0; if several are, all
// get 0. Second derivatives are right only if no element is 0.
std::vector<TensorId> gradient(GraphBuilder& b, const Node& node, std::span<const TensorId> gradients) {
  const TensorId x = node.operands[0];
  const DType dtype = b.type(x).dtype;
  if (!is_float(dtype)) return {kNoTensor};
  const Attributes kept = {{"dims", b.dims(node.results[0])}};
  const TensorId zero = b.constant(0, dtype), one = b.constant(1, dtype);
  const TensorId is_zero = b.op("equal", {x, zero});
  const TensorId zeros = b.op("reduce_sum", {b.op("cast", {is_zero}, {{"dtype", dtype}})}, kept);
  const TensorId safe = b.op("where", {is_zero, one, x});
  const TensorId rest = b.op("mul", {gradients[0], b.op("reduce_prod", {safe}, kept)});
  const TensorId others_nonzero =
      b.op("where", {is_zero, b.op("equal", {zeros, one}), b.op("equal", {zeros, zero})});
  return {b.op("where", {others_nonzero, b.op("div", {rest, safe}), zero}, {{"dims", b.dims(x)}})};
}

}  // namespace

extern const OpDef kOp = reduction({
    .name = "reduce_prod",
    .doc = "The product over the given dimensions, also of integers.",
    .infer = infer_number_reduction,
    .kind = ReduceKind::kProd,
    .more = {{{positive("batch=5 hidden=7", DType::kI32)}, {{"over", dims_of("batch=5")}}},
             {{steps("batch=5 hidden=7")}, {{"over", dims_of("hidden=7")}}}},
    .gradient = gradient,
});

}  // namespace mtfc::reduce_prod_op
