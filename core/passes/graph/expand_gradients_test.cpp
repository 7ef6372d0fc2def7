#include "core/passes/graph/expand_gradients.h"

#include <doctest/doctest.h>

#include "core/graph/expand_composites.h"
#include "core/graph/op_registry.h"

namespace mtfc::expand_gradients_test {
namespace {

const TensorType kRow{DType::kF32, {{"cols", 5}}};

// A gradient that takes floats for conditions.
std::vector<TensorId> misusing_gradient(GraphBuilder& b, const Node&, std::span<const TensorId> gradients) {
  return {b.op("and", {gradients[0], gradients[0]})};
}

std::vector<TensorId> misusing_expansion(GraphBuilder& b, const Node& node) {
  return b.add(op_named("not"), node.operands);
}

TEST_CASE("a gradient that misuses an operation is an internal error that names the operation") {
  OpDef wrong = op_named("neg");
  wrong.gradient = misusing_gradient;
  GraphBuilder b;
  const TensorId x = b.add_input("x", kRow);
  const TensorId y = b.add(wrong, {x}, {}, {"y"})[0];
  const TensorId gradient = b.add_gradients(b.op("reduce_sum", {y}), {x}, {"slope"})[0];
  CHECK_THROWS_WITH_AS(expand_gradients({"evaluate", b.graph(), {{"slope", gradient}}, {}}),
                       "'and' is misused for 'y/grad': needs bool, but the operand is f32[cols=5]",
                       InternalError);
}

TEST_CASE("a composite that misuses an operation is an internal error that names the operation") {
  CompositeDef wrong = *find_composite("softmax");
  wrong.expand = misusing_expansion;
  GraphBuilder b;
  const TensorId x = b.add_input("x", kRow);
  b.set_origin({"y", {}, Phase::kForward});
  const TensorId y = b.add(wrong, {x}, {{"over", kRow.dims}}, {"y"})[0];
  CHECK_THROWS_WITH_AS(expand_composites({"evaluate", b.graph(), {{"y", y}}, {}}),
                       "'not' is misused for 'y': needs bool, but the operand is f32[cols=5]", InternalError);
}

}  // namespace
}  // namespace mtfc::expand_gradients_test
