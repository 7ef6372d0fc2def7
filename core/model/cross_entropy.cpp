#include "core/model/cross_entropy.h"

#include <string_view>

#include "core/model/entry_points.h"

namespace mtfc {
namespace {

std::string_view operation_name(const Node& node) {
  return node.composite ? node.composite->signature.name : node.op ? node.op->signature.name : "";
}

// The node that computes the tensor, behind those that only pass it on.
const Node& computed_by(const Graph& graph, TensorId tensor) {
  const Node* node = &graph.producer(tensor);
  while (operation_name(*node) == "identity" || operation_name(*node) == "cast")
    node = &graph.producer(node->operands[0]);
  return *node;
}

}  // namespace

std::string mean_cross_entropy(const Model& model) {
  if (!model.train) return "";
  const Node& mean = computed_by(model.graph, model.train->loss);
  if (operation_name(mean) != "reduce_mean") return "";
  const Node& averaged = computed_by(model.graph, mean.operands[0]);
  return operation_name(averaged) == "softmax_cross_entropy" ? loss_name(model) : "";
}

}  // namespace mtfc
