#include "core/op_rules/elementwise.h"
#include "core/op_rules/example.h"

namespace mtfc::rsqrt_op {

extern const OpDef kOp = float_unary({
    .name = "rsqrt",
    .doc = "1 divided by the square root of each element.",
    .examples = unary_examples(positive),
    .gradient = times_slope([](GraphBuilder& b, const Node& node) {
      const DType dtype = b.type(node.results[0]).dtype;
      const TensorId cube = b.op("mul", {node.results[0], b.op("square", {node.results[0]})});
      return b.op("mul", {cube, b.constant(-0.5, dtype)});
    }),
    .traits = {.own_pace = true},
});

}  // namespace mtfc::rsqrt_op
