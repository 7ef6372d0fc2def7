#include "core/op_rules/softmax_rules.h"

#include "core/op_rules/example.h"
#include "core/op_rules/operation_rules.h"

namespace mtfc {

void require_logits(const OpCall& call) {
  require_floats({call.attributes, call.operands.first(1)});
  require_over(call);
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

std::vector<Example> softmax_examples() {
  return {
      {{normal("batch=5 classes=7")}, {{"over", dims_of("classes=7")}}},
      {{normal("classes=7 batch=5")}, {{"over", dims_of("classes=7")}}},
      {{normal("a=3 b=5 c=7")}, {{"over", dims_of("a=3 c=7")}}},
  };
}

}  // namespace mtfc
