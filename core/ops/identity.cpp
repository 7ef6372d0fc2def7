#include "core/op_rules/family.h"

namespace mtfc::identity_op {
namespace {

std::vector<TensorId> gradient(GraphBuilder&, const Node&, std::span<const TensorId> gradients) {
  return {gradients[0]};
}

}  // namespace

extern const OpDef kOp = unchanged("identity", "The operand itself, under another name.", gradient);

}  // namespace mtfc::identity_op
