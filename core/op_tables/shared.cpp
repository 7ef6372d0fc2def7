#include "core/op_rules/example.h"
#include "core/op_rules/family.h"
#include "core/op_rules/operation_rules.h"
#include "core/op_rules/random_rules.h"
#include "core/op_rules/reduction.h"

namespace mtfc::shared_ops {
namespace {

std::vector<TensorId> identity_gradient(GraphBuilder&, const Node&, std::span<const TensorId> gradients) {
  return {gradients[0]};
}

std::vector<TensorId> reduce_sum_gradient(GraphBuilder& b, const Node& node,
                                          std::span<const TensorId> gradients) {
  if (!is_float(b.type(node.operands[0]).dtype)) return {kNoTensor};
  const Dims dims = b.dims(node.operands[0]);
  return {spread_to(b, gradients[0], dims)};
}

std::vector<TensorId> reduce_mean_gradient(GraphBuilder& b, const Node& node,
                                           std::span<const TensorId> gradients) {
  const TensorType from = b.type(node.operands[0]);
  const int64_t averaged = elements(from.dims) / elements(b.dims(node.results[0]));
  const TensorId count = b.constant(static_cast<double>(averaged), from.dtype);
  return {spread_to(b, b.op("div", {gradients[0], count}), from.dims)};
}

// An element's gradient is the product of the other elements. If no element is 0, that is the product of all
// divided by this one. If one is 0, it gets the product of the rest and the others get 0; if several are, all
// get 0. Second derivatives are right only if no element is 0.
std::vector<TensorId> reduce_prod_gradient(GraphBuilder& b, const Node& node,
                                           std::span<const TensorId> gradients) {
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

extern const std::vector<OpDef> kOps = {
    unchanged("identity", "The operand itself, under another name.", identity_gradient),
    unchanged("stop_gradient", "The operand itself, through which no gradient flows.", kNoGradient),
    random_numbers("random_normal",
                   "Numbers from the standard normal distribution, the same for every layout."),
    random_numbers(
        "random_truncated_normal",
        "Numbers from the standard normal distribution within [-2, 2], the same for every layout."),
    random_numbers("random_uniform",
                   "Numbers from the uniform distribution over [0, 1), the same for every layout."),
    reduction(ReduceKind::kSum,
              {
                  .name = "reduce_sum",
                  .doc = "The sum over the given dimensions, also of integers.",
                  .infer = infer_number_reduction,
                  .examples = {{{steps("batch=5 hidden=7", DType::kI32)}, {{"over", dims_of("batch=5")}}}},
                  .linear_in = {{0}},
                  .gradient = reduce_sum_gradient,
              }),
    reduction(ReduceKind::kSum,
              {
                  .name = "reduce_mean",
                  .doc = "The mean over the given dimensions.",
                  .infer = infer_float_reduction,
                  .worked = {worked({known("batch=2 hidden=3", {1, 2, 3, 4, 5, 9})},
                                    {{"over", dims_of("hidden=3")}}, {{2, 6}})},
                  .linear_in = {{0}},
                  .gradient = reduce_mean_gradient,
                  .traits = {.averages = true},
              }),
    reduction(ReduceKind::kProd,
              {
                  .name = "reduce_prod",
                  .doc = "The product over the given dimensions, also of integers.",
                  .infer = infer_number_reduction,
                  .examples = {{{positive("batch=5 hidden=7", DType::kI32)}, {{"over", dims_of("batch=5")}}},
                               {{steps("batch=5 hidden=7")}, {{"over", dims_of("hidden=7")}}}},
                  .gradient = reduce_prod_gradient,
              }),
    reduction(ReduceKind::kMax,
              {
                  .name = "reduce_max",
                  .doc = "The largest element over the given dimensions; NaN if one of them is NaN.",
                  .infer = infer_number_reduction,
                  .examples = {{{steps("batch=5 hidden=7", DType::kI32)}, {{"over", dims_of("batch=5")}}},
                               {{steps("batch=5 hidden=7")}, {{"over", dims_of("hidden=7")}}}},
                  .gradient = extremum_gradient,
              }),
    reduction(ReduceKind::kMin,
              {
                  .name = "reduce_min",
                  .doc = "The smallest element over the given dimensions; NaN if one of them is NaN.",
                  .infer = infer_number_reduction,
                  .examples = {{{steps("batch=5 hidden=7", DType::kI32)}, {{"over", dims_of("batch=5")}}},
                               {{steps("batch=5 hidden=7")}, {{"over", dims_of("hidden=7")}}}},
                  .gradient = extremum_gradient,
              }),
    reduction(ReduceKind::kMax,
              {
                  .name = "reduce_any",
                  .doc = "True where any element over the given dimensions is true.",
                  .infer = infer_bool_reduction,
              }),
    reduction(ReduceKind::kMin,
              {
                  .name = "reduce_all",
                  .doc = "True where all elements over the given dimensions are true.",
                  .infer = infer_bool_reduction,
              }),
};

}  // namespace mtfc::shared_ops
