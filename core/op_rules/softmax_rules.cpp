#include "core/op_rules/softmax_rules.h"

#include "core/op_rules/operation_rules.h"

namespace mtfc {

void require_logits(const OpCall& call) {
  const TensorType& logits = call.operands[0];
  if (!is_float(logits.dtype))
    throw OpError{"needs f32, f64 or bf16, but the operand is " + to_string(logits),
                  "use cast to make it f32", 0};
  const Dims& over = call.attributes.get<Dims>("over");
  require_known(over, logits.dims, to_string(logits), "over");
  require_distinct(over, "over");
  if (over.empty()) throw OpError{"'over' names no dimension", "", -1, "over"};
}

std::vector<TensorType> infer_softmax(const OpCall& call) {
  require_logits(call);
  return {call.operands[0]};
}

SoftmaxParts softmax_parts(GraphBuilder& b, TensorId logits, const Dims& over) {
  const Attributes reduced = {{"over", over}};
  const TensorId largest = b.op("stop_gradient", {b.op("reduce_max", {logits}, reduced)});
  const TensorId shifted = b.op("sub", {logits, largest});
  const TensorId exponentials = b.op("exp", {shifted});
  return {largest, shifted, exponentials, b.op("reduce_sum", {exponentials}, reduced)};
}

}  // namespace mtfc
