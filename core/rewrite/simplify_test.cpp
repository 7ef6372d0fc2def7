#include "core/rewrite/simplify.h"

#include <doctest/doctest.h>

namespace mtfc::simplify_test {
namespace {

const Dims kRows{{"rows", 3}}, kBoth{{"rows", 3}, {"cols", 5}}, kTurned{{"cols", 5}, {"rows", 3}};

// Returns the way in which the result of the simplified graph is computed, as in `tanh(broadcast(x))`.
std::string expression(const Graph& graph, TensorId id) {
  const Node& node = graph.producer(id);
  if (node.kind != NodeKind::kOp) return graph.tensor(id).name;
  std::string operands;
  for (const TensorId operand : node.operands)
    operands += (operands.empty() ? "" : ", ") + expression(graph, operand);
  return std::string(node.op->signature.name) + "(" + operands + ")";
}

// The expression after the pass. The result must keep its type.
std::string simplified(const GraphBuilder& builder, TensorId result) {
  const EntryGraph entry = simplify({"evaluate", builder.graph(), {{"y", result}}, {}});
  CHECK(entry.graph.type(entry.outputs[0].tensor) == builder.type(result));
  return expression(entry.graph, entry.outputs[0].tensor);
}

TEST_CASE("a broadcast goes where the other operands give its dimensions") {
  GraphBuilder b;
  const TensorId s = b.add_input("s", {DType::kF32, {}}), x = b.add_input("x", {DType::kF32, kBoth});
  const TensorId spread = b.op("broadcast", {s}, {{"dims", kTurned}});
  CHECK(simplified(b, b.op("mul", {spread, x})) == "mul(s, x)");
  CHECK(simplified(b, b.op("mul", {spread, s})) == "mul(broadcast(s), s)");
}

TEST_CASE("a broadcast stays that gives an only operand the order of its dimensions") {
  GraphBuilder b;
  const TensorId x = b.add_input("x", {DType::kF32, kBoth});
  CHECK(simplified(b, b.op("tanh", {b.op("broadcast", {x}, {{"dims", kTurned}})})) == "tanh(broadcast(x))");
  CHECK(simplified(b, b.op("tanh", {b.op("broadcast", {x}, {{"dims", kBoth}})})) == "tanh(x)");
}

TEST_CASE("factors of one and terms of zero go where the other operand has the result's type") {
  GraphBuilder b;
  const TensorId x = b.add_input("x", {DType::kF32, kBoth}), row = b.add_input("row", {DType::kF32, kRows});
  const TensorId one = b.constant(1, DType::kF32), zero = b.constant(0, DType::kF32);
  CHECK(simplified(b, b.op("div", {b.op("mul", {one, x}), one})) == "x");
  CHECK(simplified(b, b.op("sub", {b.op("add", {x, zero}), zero})) == "x");
  CHECK(simplified(b, b.op("sub", {zero, x})) == "sub(constant(), x)");
  const TensorId ones = b.op("broadcast", {one}, {{"dims", kBoth}});
  CHECK(simplified(b, b.op("mul", {ones, row})) == "mul(broadcast(constant()), row)");
}

}  // namespace
}  // namespace mtfc::simplify_test
