#include "core/op_rules/elementwise.h"

namespace mtfc::sigmoid_op {

extern const OpDef kOp = float_unary({
    .name = "sigmoid",
    .doc = "1 / (1 + exp(-x)) of each element.",
    .gradient = times_slope([](GraphBuilder& b, const Node& node) {
      const DType dtype = b.type(node.results[0]).dtype;
      const TensorId rest = b.op("sub", {b.constant(1, dtype), node.results[0]});
      return b.op("mul", {node.results[0], rest});
    }),
    .traits = {.own_pace = true},
});

}  // namespace mtfc::sigmoid_op
