#include "core/op_rules/elementwise.h"
#include "core/op_rules/example.h"

namespace mtfc::where_op {
namespace {

std::vector<TensorType> infer(const OpCall& call) {
  if (call.operands[0].dtype != DType::kBool)
    throw OpError{"the condition must be bool, but it is " + to_string(call.operands[0]),
                  "equal and greater_equal make bool", 0};
  if (call.operands[1].dtype != call.operands[2].dtype)
    throw OpError{"the two choices have different dtypes: " + to_string(call.operands[1]) + " and " +
                      to_string(call.operands[2]),
                  "use cast to make them the same", 2};
  return {{call.operands[1].dtype, aligned_dims(call)}};
}

std::vector<TensorId> gradient(GraphBuilder& b, const Node& node, std::span<const TensorId> gradients) {
  const DType dtype = b.type(node.results[0]).dtype;
  if (!is_float(dtype)) return {kNoTensor, kNoTensor, kNoTensor};
  const TensorId zero = b.constant(0, dtype);
  const TensorId first = b.op("where", {node.operands[0], gradients[0], zero});
  const TensorId second = b.op("where", {node.operands[0], zero, gradients[0]});
  return {kNoTensor, gradient_of(b, node.operands[1], first), gradient_of(b, node.operands[2], second)};
}

}  // namespace

extern const OpDef kOp = elementwise({
    .name = "where",
    .doc = "The second operand where the condition holds, else the third.",
    .min_operands = 3,
    .max_operands = 3,
    .attributes = {kResultOrder},
    .own_dtypes = {{0, DType::kBool}},
    .infer = infer,
    .examples =
        {{.operands = {flags("batch=5 hidden=7"), normal("batch=5 hidden=7"), normal("batch=5 hidden=7")},
          .attributes = {}},
         {.operands = {flags("batch=5"), normal("hidden=7"), normal("")}, .attributes = {}},
         {.operands = {flags("hidden=7 batch=5"), normal("batch=5 hidden=7"), normal("hidden=7")},
          .attributes = {{"dims", dims_of("batch=5 hidden=7")}}},
         {.operands = {flags(""), normal("batch=5", DType::kF32), normal("", DType::kF32)}, .attributes = {}},
         {.operands = {flags("batch=5"), steps("batch=5 hidden=7", DType::kI32),
                       steps("hidden=7", DType::kI32)},
          .attributes = {}},
         {.operands = {flags("batch=5"), flags("batch=5"), flags("")}, .attributes = {}}},
    .worked = {worked({known("batch=3", {1, 0, 1}, DType::kBool), known("batch=3", {1, 2, 3}),
                       known("batch=3", {10, 20, 30})},
                      {}, {{1, 20, 3}})},
    .linear_in = {{1, 2}},
    .gradient = gradient,
});

}  // namespace mtfc::where_op
