#include "core/op_rules/unrounded.h"

namespace mtfc {

TensorId unrounded(GraphBuilder& builder, TensorId tensor) {
  if (builder.type(tensor).dtype != DType::kBF16) return builder.cast(tensor, DType::kF32);
  const Node made = builder.graph().producer(tensor);
  if (made.kind != NodeKind::kOp) return builder.cast(tensor, DType::kF32);
  const OpDef& op = *made.op;
  if (op.traits.converts && made.attributes.get_or(kRoundsTerms, false))
    return builder.cast(made.operands[0], DType::kF32);
  if (op.family == Family::kContraction) {
    Attributes attributes = made.attributes;
    attributes.set("dtype", DType::kF32);
    return builder.add(op, made.operands, attributes)[0];
  }
  if (op.family == Family::kReduction && !op.linear_in.empty())
    return builder.add(op, {builder.cast(made.operands[0], DType::kF32)}, made.attributes)[0];
  const bool adds = op.traits.neutral && op.traits.neutral->value == 0 && op.traits.neutral->on_either_side;
  if (adds && made.attributes.entries().empty()) {
    const TensorId first = unrounded(builder, made.operands[0]);
    return builder.add(op, {first, unrounded(builder, made.operands[1])})[0];
  }
  return builder.cast(tensor, DType::kF32);
}

}  // namespace mtfc
