#include "core/rewrite/expand_gradients.h"

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

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

// The nodes of the gradients of sum(y) in x and w, both annotated, where y = make(x, w).
std::vector<std::string> kinds_of_gradients(std::string_view make) {
  GraphBuilder b;
  const TensorId x = b.add_input("x", kRow), w = b.add_input("w", kRow);
  for (const TensorId id : {x, w})
    b.annotate(id, std::make_shared<const TensorAnnotation>(
                       TensorAnnotation{{{{id == x ? 0 : 1}}, {}}, id == x ? "x" : "w", {}}));
  const std::vector<TensorId> gradients =
      b.add_gradients(b.op("reduce_sum", {b.op(make, {x, w})}), {x, w}, {"x/grad", "w/grad"});
  const EntryGraph expanded =
      expand_gradients({"evaluate", b.graph(), {{"x/grad", gradients[0]}, {"w/grad", gradients[1]}}, {}});
  std::vector<std::string> kinds;
  for (const NamedTensor& output : expanded.outputs) {
    const Tensor& tensor = expanded.graph.tensor(output.tensor);
    REQUIRE(tensor.annotation);
    CHECK(tensor.annotation->pattern == output.name.substr(0, 1));
    kinds.emplace_back(expanded.graph.producer(output.tensor).op->signature.name);
  }
  return kinds;
}

TEST_CASE("the gradient of an annotated tensor is annotated, and copied only where it is another's too") {
  CHECK(kinds_of_gradients("mul") == std::vector<std::string>{"mul", "mul"});
  // Both operands of a sum have the gradient of the sum.
  CHECK(kinds_of_gradients("add") == std::vector<std::string>{"identity", "identity"});
}

TEST_CASE("a sum does not depend on what a composite makes of its operand, even if that is the same") {
  GraphBuilder b;
  const TensorId x = b.add_input("x", kRow);
  const TensorId h = b.op("relu", {x});
  const TensorId same = b.add(*find_composite("dropout"), {h}, {{"rate", 0.0}}, {"same"})[0];
  const TensorId gradient = b.add_gradients(b.op("reduce_sum", {h}), {same}, {"same/grad"})[0];
  const EntryGraph expanded =
      expand_gradients(expand_composites({"train", b.graph(), {{"same/grad", gradient}}, {}}));
  // Zeros, brought into its shape.
  const Node& made = expanded.graph.producer(expanded.outputs[0].tensor);
  CHECK(made.op->signature.name == "broadcast");
  CHECK(expanded.graph.constant_value(made.operands[0]) == 0.0);
}

TEST_CASE("what is derived from a gradient is derived from its annotated copy too") {
  for (const bool is_annotated : {false, true}) {
    CAPTURE(is_annotated);
    GraphBuilder b;
    const TensorId x = b.add_input("x", kRow);
    const TensorId mean = b.op("reduce_mean", {x});
    const std::vector<TensorId> first = b.add_gradients(mean, {mean, x}, {"mean/grad", "x/grad"});
    if (is_annotated)
      b.annotate(first[0], std::make_shared<const TensorAnnotation>(TensorAnnotation{{}, "mean/grad", {}}));
    const TensorId second = b.add_gradients(b.op("reduce_sum", {first[1]}), {first[0]}, {"second"})[0];
    const EntryGraph expanded = expand_gradients({"evaluate", b.graph(), {{"second", second}}, {}});
    // What does not depend on mean/grad would have a gradient of zeros, brought into its shape.
    CHECK(expanded.graph.producer(expanded.outputs[0].tensor).op->family != Family::kMovement);
  }
}

TEST_CASE(
    "of tensors with one gradient, the first has it, and the others have copies that nothing depends on") {
  for (const bool is_annotated : {false, true}) {
    CAPTURE(is_annotated);
    GraphBuilder b;
    const TensorId x = b.add_input("x", kRow);
    if (is_annotated)
      b.annotate(x, std::make_shared<const TensorAnnotation>(TensorAnnotation{{{{}}, {}}, "x", {}}));
    const TensorId sum = b.op("reduce_sum", {x}, {{"over", Dims{}}});
    const std::vector<TensorId> first =
        b.add_gradients(b.op("reduce_mean", {sum}), {sum, x}, {"sum/grad", "x/grad"});
    const std::vector<TensorId> second =
        b.add_gradients(b.op("reduce_sum", {first[0]}), {first[1]}, {"second"});
    const std::vector<TensorId> third =
        b.add_gradients(b.op("reduce_sum", {first[1]}), {first[0]}, {"third"});
    const EntryGraph expanded =
        expand_gradients({"evaluate", b.graph(), {{"second", second[0]}, {"third", third[0]}}, {}});
    const auto constant_of = [&](size_t output) {
      const Node& made = expanded.graph.producer(expanded.outputs[output].tensor);
      return expanded.graph.constant_value(made.operands[0]);
    };
    CHECK(constant_of(0) == 0.0);
    CHECK(constant_of(1) == 1.0);
  }
}

}  // namespace
}  // namespace mtfc::expand_gradients_test
