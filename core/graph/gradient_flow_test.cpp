#include "core/graph/gradient_flow.h"

#include <doctest/doctest.h>

#include "core/graph/op_registry.h"

namespace mtfc::gradient_flow_test {
namespace {

const Dims kDims = {{"n", 3}};

// The operation that keeps the gradient of `of` from `tensor`, "none" if nothing does, or "" if the gradient arrives.
std::string stop_of(const GraphBuilder& b, TensorId tensor, TensorId of) {
  const Graph& graph = b.graph();
  if (with_gradient(graph, of)[tensor]) return "";
  const Node* stop = gradient_stop(graph, tensor, PerTensor<bool>(graph.tensors().size(), true));
  return stop ? std::string(stop->op->signature.name) : "none";
}

}  // namespace

TEST_CASE("a gradient passes operations that have one, and stops at the first that has none") {
  GraphBuilder b;
  const TensorId x = b.add_variable("x", {DType::kF32, kDims}), y = b.add_variable("y", {DType::kF32, kDims});
  const TensorId floor = b.op("floor", {b.op("square", {x})});
  const TensorId sum = b.op("reduce_sum", {b.op("mul", {floor, y})});
  CHECK(stop_of(b, x, sum) == "floor");
  CHECK(stop_of(b, y, sum).empty());
  // Another way leads past the operation.
  const TensorId both = b.op("reduce_sum", {b.op("mul", {floor, x})});
  CHECK(stop_of(b, x, both).empty());
}

TEST_CASE("integers have no gradient, even where the operation that makes them has one") {
  GraphBuilder b;
  const TensorId x = b.add_variable("x", {DType::kF32, kDims});
  const TensorId whole = b.op("cast", {x}, {{"dtype", DType::kI32}});
  const TensorId sum = b.op("reduce_sum", {b.op("cast", {whole}, {{"dtype", DType::kF32}})});
  CHECK(stop_of(b, x, sum) == "cast");
  const TensorId beside = b.add_variable("beside", {DType::kF32, kDims});
  CHECK(stop_of(b, beside, sum) == "none");
}

}  // namespace mtfc::gradient_flow_test
