#include "core/graph/entry_graph.h"

#include <doctest/doctest.h>

#include "core/graph/op_registry.h"

namespace mtfc::entry_graph_test {
namespace {

// The graph of y = neg(x) without its neg.
EntryGraph without_neg(const GraphBuilder& builder, TensorId y) {
  return rewritten({"train", builder.graph(), {{"y", y}}, {}},
                   [](GraphBuilder&, const Node& node,
                      const std::vector<TensorId>& operands) -> std::optional<std::vector<TensorId>> {
                     if (node.kind != NodeKind::kOp || node.op != &op_named("neg")) return std::nullopt;
                     return {{operands[0]}};
                   });
}

TEST_CASE(
    "what stands in for a tensor takes its name, but for inputs and variables, to which data are bound") {
  for (const bool named : {false, true}) {
    CAPTURE(named);
    GraphBuilder b;
    const TensorId x = b.add_variable("x", {DType::kF32, {{"rows", 3}}});
    const TensorId y = b.add(op_named("neg"), {x}, {}, {"y"})[0];
    b.mark_from_model(y, named);
    const Graph graph = without_neg(b, y).graph;
    REQUIRE(graph.find("x") != kNoTensor);
    CHECK(graph.producer(graph.find("x")).kind == NodeKind::kVariable);
    CHECK((graph.find("y") != kNoTensor) == named);
  }
}

TEST_CASE("what stands in for a tensor of the same name takes over what the layout offers it") {
  GraphBuilder b;
  const TensorId x = b.add_variable("x", {DType::kF32, {{"rows", 3}}});
  const TensorId square = b.op("square", {x});
  const TensorId y = b.add(op_named("neg"), {square}, {}, {"y"})[0];
  b.offer(y, std::make_shared<const std::vector<DimRule>>(1, DimRule{0, {0}, "rows:p in y", {}}));
  const Graph graph = without_neg(b, y).graph;
  REQUIRE(graph.find("y") != kNoTensor);
  REQUIRE(graph.tensor(graph.find("y")).offered);
  CHECK(graph.tensor(graph.find("y")).offered->at(0).text == "rows:p in y");
}

}  // namespace
}  // namespace mtfc::entry_graph_test
