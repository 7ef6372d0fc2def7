#include "core/model/decoding.h"

#include <algorithm>
#include <limits>

namespace mtfc {
namespace {

// The number of places that the caches of one sequence have for each position.
int64_t places_per_position(const DecodeSpec& decode) {
  for (const InputDecl& input : decode.inputs)
    if (input.name == kTokenInput && input.type.dims.size() > 1) return input.type.dims[1].size;
  return 1;
}

}  // namespace

int64_t decode_positions(const DecodeSpec& decode) {
  int64_t positions = std::numeric_limits<int64_t>::max();
  for (const InputDecl& input : decode.inputs)
    if (input.name == kSeenInput) positions = input.type.dims.back().size / places_per_position(decode);
  const TensorId position = decode.graph.find(kPositionInput);
  for (const Node& node : decode.graph.nodes()) {
    if (node.kind != NodeKind::kOp || node.op->traits.position_operand < 0) continue;
    const auto operand = static_cast<size_t>(node.op->traits.position_operand);
    if (node.operands[operand] == position)
      positions = std::min(positions, node.attributes.get<Dim>("dim").size);
  }
  return positions;
}

Model only_decode(Model model) {
  model.inputs.clear();
  model.graph = {};
  model.assignments.clear();
  model.train.reset();
  model.outputs.clear();
  model.train_outputs.clear();
  model.annotations.clear();
  model.is_reduced = true;
  return model;
}

}  // namespace mtfc
