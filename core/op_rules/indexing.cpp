#include "core/op_rules/indexing.h"

#include "core/tensors/shape.h"

namespace mtfc {

void require_indices(const OpCall& call) {
  if (!is_integer(call.operands[1].dtype))
    throw OpError{"the indices must be i32 or i64, but they are " + to_string(call.operands[1]),
                  "use cast to make them i32", 1};
  if (call.operands[0].dtype == DType::kBool)
    throw OpError{"needs numbers, but the operand is " + to_string(call.operands[0]),
                  "use cast to make it f32 or i32", 0};
}

int batch_position(const Dims& table, std::string_view name, std::string_view indexed) {
  return name == indexed ? -1 : position(table, name);
}

}  // namespace mtfc
