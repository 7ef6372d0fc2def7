#include "core/model/decoding.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/graph/entry_graph.h"
#include "core/graph/reachability.h"

namespace mtfc {
namespace {

// The number of places that the caches of one sequence have for each position.
int64_t places_per_position(const DecodeSpec& decode) {
  for (const InputDecl& input : decode.inputs)
    if (input.name == kTokenInput && input.type.dims.size() > 1) return input.type.dims[1].size;
  return 1;
}

// The tensors of the model's graph that caches hold, and all that they are made from.
PerTensor<bool> needed_to_encode(const Model& model) {
  PerTensor<bool> needed(model.graph.tensors().size(), false);
  for (const HeldTensor& held : model.decode->held) needed[held.tensor] = true;
  return with_ancestors(model.graph, std::move(needed));
}

// Removes from the model's graph all but the variables and what caches hold.
void reduce_graph(Model& model) {
  const PerTensor<bool> needed = needed_to_encode(model);
  EntryGraph entry{.name = "encode", .graph = std::move(model.graph), .outputs = {}, .assignments = {}};
  for (const HeldTensor& held : model.decode->held) entry.outputs.push_back({held.cache, held.tensor});
  const EntryGraph reduced =
      rewritten(entry,
                [&](GraphBuilder&, const Node& node,
                    const std::vector<TensorId>&) -> std::optional<std::vector<TensorId>> {
                  const auto is_needed = [&](TensorId id) { return needed[id]; };
                  if (node.kind == NodeKind::kVariable ||
                      std::any_of(node.results.begin(), node.results.end(), is_needed))
                    return std::nullopt;
                  return std::vector<TensorId>(node.results.size(), kNoTensor);
                });
  model.graph = reduced.graph;
  for (size_t i = 0; i < reduced.outputs.size(); ++i)
    model.decode->held[i].tensor = reduced.outputs[i].tensor;
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

std::vector<InputDecl> encode_inputs(const Model& model) {
  const PerTensor<bool> needed = needed_to_encode(model);
  std::vector<InputDecl> inputs;
  for (const InputDecl& input : model.inputs)
    if (const TensorId tensor = model.graph.find(input.name); tensor != kNoTensor && needed[tensor])
      inputs.push_back(input);
  return inputs;
}

Model only_decode(Model model) {
  model.inputs = encode_inputs(model);
  reduce_graph(model);
  model.assignments.clear();
  model.train.reset();
  model.outputs.clear();
  model.train_outputs.clear();
  model.is_reduced = true;
  return model;
}

}  // namespace mtfc
