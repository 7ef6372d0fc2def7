#include "core/graph/custom_gradient.h"

#include <map>
#include <utility>

#include "core/graph/op_registry.h"

namespace mtfc {
namespace {

constexpr const char *kResults = "results", *kTargets = "targets", *kScale = "scale";

std::vector<TensorType> infer_custom(const OpCall& call) {
  const auto results = static_cast<size_t>(call.attributes.get<int64_t>(kResults));
  return {call.operands.begin(), call.operands.begin() + static_cast<std::ptrdiff_t>(results)};
}

std::vector<TensorId> expand_custom(GraphBuilder&, const Node& node) {
  const auto results = static_cast<std::ptrdiff_t>(custom_gradient_counts(node).results);
  return {node.operands.begin(), node.operands.begin() + results};
}

TensorId times(GraphBuilder& b, TensorId id, double factor) {
  return factor == 1 ? id : b.op("mul", {id, b.constant(factor, b.type(id).dtype)});
}

// The operations of the backward part belong to the backward pass, where they are not computed again.
std::vector<TensorId> custom_gradients(GraphBuilder& b, const Node& node,
                                       std::span<const TensorId> gradients) {
  const auto [results, targets] = custom_gradient_counts(node);
  const auto scale = static_cast<double>(node.attributes.get_or(kScale, int64_t{1}));
  std::vector<TensorId> leaves = node.operands;
  for (size_t i = 0; i < results; ++i) {
    const TensorType& type = b.type(node.operands[i]);
    leaves.push_back(gradients[i] == kNoTensor
                         ? b.op("broadcast", {b.constant(0, type.dtype)}, {{"dims", type.dims}})
                         : times(b, gradients[i], 1 / scale));
  }
  std::map<SharedOrigin, SharedOrigin> origins;
  const auto add = [&](const Node& inner, std::vector<TensorId> operands) {
    SharedOrigin& origin = origins[inner.origin];
    if (!origin)
      origin = std::make_shared<const Origin>(
          Origin{inner.origin->name, inner.origin->location, Phase::kBackward, 0});
    Node copied = inner;
    copied.origin = origin;
    return b.copy(node.backward->graph, copied, std::move(operands));
  };
  std::vector<TensorId> found(node.operands.size(), kNoTensor);
  const std::vector<TensorId> given = inlined(*node.backward, leaves, add);
  for (size_t i = 0; i < targets; ++i) found[results + i] = times(b, given[i], scale);
  return found;
}

const CompositeDef kCustomGradient = {
    .signature =
        {
            .name = "custom_gradient",
            .doc = "The first operands, with the gradient that the block that makes them states.",
            .min_operands = 1,
            .max_operands = -1,
            .attributes = {{kResults, AttributeType::kInteger, true, "the number of results"},
                           {kTargets, AttributeType::kInteger, true, "the number of tensors with gradients"},
                           {kScale, AttributeType::kInteger, false, "the number of microbatches"}},
            .infer = infer_custom,
            .examples = {},
        },
    .expand = expand_custom,
    .gradient = custom_gradients,
};

}  // namespace

std::vector<TensorId> add_custom_gradient(GraphBuilder& builder, CustomGradient gradient,
                                          std::vector<TensorId> operands,
                                          const std::vector<std::string>& names) {
  Attributes attributes = {{kResults, static_cast<int64_t>(gradient.counts.results)},
                           {kTargets, static_cast<int64_t>(gradient.counts.targets)}};
  if (gradient.scale != 1) attributes.set(kScale, gradient.scale);
  const std::vector<TensorId> made =
      builder.add(kCustomGradient, std::move(operands), std::move(attributes), names);
  builder.set_backward(std::move(gradient.backward));
  return made;
}

CustomGradientCounts custom_gradient_counts(const Node& node) {
  return {static_cast<size_t>(node.attributes.get<int64_t>(kResults)),
          static_cast<size_t>(node.attributes.get<int64_t>(kTargets))};
}

std::vector<TensorType> backward_leaf_types(const Graph& graph, const Node& node) {
  std::vector<TensorType> types = graph.operand_types(node);
  const size_t results = custom_gradient_counts(node).results;
  for (size_t i = 0; i < results; ++i) types.push_back(types[i]);
  return types;
}

std::vector<TensorId> inlined(const LoopPart& part, const std::vector<TensorId>& leaves, const AddCopy& add) {
  std::map<std::string, TensorId> by_name;
  for (size_t i = 0; i < leaves.size(); ++i) by_name.emplace(leaf_name(i), leaves[i]);
  PerTensor<TensorId> map(part.graph.tensors().size(), kNoTensor);
  for (const Node& node : part.graph.nodes()) {
    if (node.kind == NodeKind::kInput) {
      map[node.results[0]] = by_name.at(part.graph.tensor(node.results[0]).name);
      continue;
    }
    std::vector<TensorId> operands;
    for (const TensorId id : node.operands) operands.push_back(map[id]);
    const std::vector<TensorId> results = add(node, std::move(operands));
    for (size_t i = 0; i < results.size(); ++i) map[node.results[i]] = results[i];
  }
  std::vector<TensorId> results;
  for (const TensorId id : part.results) results.push_back(map[id]);
  return results;
}

}  // namespace mtfc
