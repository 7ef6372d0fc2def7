#include "core/op_rules/indexing.h"

#include "core/op_rules/operation_rules.h"

namespace mtfc {

void require_indices(const OpCall& call, int at) {
  const TensorType& indices = call.operands[static_cast<size_t>(at)];
  if (!is_integer(indices.dtype))
    throw OpError{"the indices must be i32 or i64, but they are " + to_string(indices),
                  "use cast to make them i32", at};
}

void require_numbers_in_table(const OpCall& call) {
  require_numbers({call.attributes, call.operands.first(1)});
}

void require_weights(const OpCall& call) {
  if (call.operands.size() < 3) return;
  const TensorType &indices = call.operands[1], &weights = call.operands[2];
  if (weights.dtype != call.operands[0].dtype)
    throw OpError{
        "the weights are " + to_string(weights) + ", but the first operand is " + to_string(call.operands[0]),
        "use cast to make the dtypes agree", 2};
  if (weights.dims.size() != indices.dims.size() || !without(indices.dims, weights.dims).empty())
    throw OpError{"the weights must have the dimensions of the indices " + to_string(indices) +
                      ", but they are " + to_string(weights),
                  "use broadcast, or reduce_sum over the others", 2};
}

int64_t picked_elements(const LocalType& table, const LocalType& indices, const Attributes& attributes) {
  return elements(indices.dims) *
         elements(slice_dims(table.dims, indices.dims, attributes.get<Dim>("dim").name));
}

int batch_position(const Dims& table, std::string_view name, std::string_view indexed) {
  return name == indexed ? -1 : position(table, name);
}

Attributes indexed_like(const Attributes& from) {
  Attributes attributes = {{"dim", from.get<Dim>("dim")}};
  if (from.has("skip_outside")) attributes.set("skip_outside", from.get<bool>("skip_outside"));
  return attributes;
}

Example weighted(Example example) {
  const TensorType weights{example.operands[0].type.dtype, example.operands[1].type.dims};
  example.operands.push_back({weights, is_float(weights.dtype) ? Fill::kNormal : Fill::kSteps});
  return example;
}

Example skipping(Example example) {
  example.attributes.set("skip_outside", true);
  return example;
}

}  // namespace mtfc
