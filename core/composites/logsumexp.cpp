#include <limits>

#include "core/op_rules/example.h"
#include "core/op_rules/reduction.h"

namespace mtfc::logsumexp_composite {
namespace {

// Computes m + log(sum(exp(x - m))) with m = max(x). The maximum only keeps exp in range, so no gradient
// flows through it. An infinite maximum is replaced by the nearest finite number, since inf - inf is not a
// number.
std::vector<TensorId> expand(GraphBuilder& b, const Node& node) {
  const TensorId x = node.operands[0];
  const DType dtype = b.type(x).dtype;
  const double limit = dtype == DType::kF64   ? std::numeric_limits<double>::max()
                       : dtype == DType::kF32 ? static_cast<double>(std::numeric_limits<float>::max())
                                              : kLargestBf16;
  const TensorId largest = b.op("stop_gradient", {b.op("reduce_max", {x}, node.attributes)});
  const TensorId above = b.op("maximum", {largest, b.constant(-limit, dtype)});
  const TensorId shift = b.op("minimum", {above, b.constant(limit, dtype)});
  const TensorId exponentials = b.op("exp", {b.op("sub", {x, shift})});
  return {b.op("add", {b.op("log", {b.op("reduce_sum", {exponentials}, node.attributes)}), shift})};
}

}  // namespace

extern const CompositeDef kComposite = {
    .signature =
        {
            .name = "logsumexp",
            .doc = "log(sum(exp(x))) over the given dimensions, computed so that large elements do not "
                   "overflow.",
            .attributes = {kReductionOver, kReductionDims},
            .infer = infer_float_reduction,
            .examples = {{.operands = {normal("batch=5 classes=7")}, .attributes = {}},
                         {.operands = {normal("batch=5 classes=7")},
                          .attributes = {{"over", dims_of("classes=7")}}},
                         {.operands = {normal("classes=7 batch=5")},
                          .attributes = {{"over", dims_of("classes=7")}}},
                         {.operands = {normal("a=3 b=5 c=7")}, .attributes = {{"over", dims_of("a=3 c=7")}}},
                         {.operands = {normal("a=3 b=5 c=7")}, .attributes = {{"dims", dims_of("c=7 a=3")}}},
                         {.operands = {normal("batch=5 classes=7", DType::kF32)},
                          .attributes = {{"over", dims_of("classes=7")}}}},
        },
    .expand = expand,
    .in_f32 = true,
    .reads_logits = true,
};

}  // namespace mtfc::logsumexp_composite
