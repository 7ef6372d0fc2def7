#include "runtime/testing/interpreter.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "core/graph/op_registry.h"
#include "runtime/testing/example_data.h"
#include "runtime/testing/kernel_call.h"

namespace mtfc::interpreter_test {
namespace {

/// Gradients of the sum of `of` * `weights` with respect to every tensor; kNoTensor where there is none.
PerTensor<TensorId> differentiate(GraphBuilder& b, TensorId of, TensorId weights) {
  const Nodes nodes = b.graph().nodes();
  PerTensor<TensorId> gradients(b.graph().tensors().size());
  gradients[of] = weights;
  for (size_t i = nodes.size(); i-- > 0;) {
    const Node& node = nodes[i];
    if (node.kind != NodeKind::kOp || !node.op->gradient) continue;
    std::vector<TensorId> own;
    for (const TensorId result : node.results) own.push_back(gradients[result]);
    if (std::all_of(own.begin(), own.end(), [](TensorId id) { return id == kNoTensor; })) continue;
    const std::vector<TensorId> parts = node.op->gradient(b, node, own);
    REQUIRE(parts.size() == node.operands.size());
    for (size_t o = 0; o < parts.size(); ++o) {
      TensorId& sum = gradients[node.operands[o]];
      if (parts[o] == kNoTensor) continue;
      CHECK(b.type(parts[o]) == b.type(node.operands[o]));
      sum = sum == kNoTensor ? parts[o] : b.op("add", {sum, parts[o]});
    }
  }
  return gradients;
}

struct Case {
  Graph graph;
  Graph forward;  // the graph without gradients
  std::map<TensorId, HostTensor> leaves;
  std::vector<TensorId> operands;
  std::vector<TensorId> gradients;  // of the operands
  TensorId loss = kNoTensor;
};

/// The sum of every result times random weights, for an operation or composite.
Case case_of(const Signature& signature, const Example& example) {
  Case c;
  GraphBuilder b;
  for (const ExampleOperand& operand : example.operands) {
    c.operands.push_back(b.add_input("x" + std::to_string(c.operands.size()), operand.type));
    c.leaves[c.operands.back()] = example_tensor(operand, c.operands.back().index());
  }
  std::vector<TensorId> results;
  if (const OpDef* op = find_op(signature.name)) {
    results = b.add(*op, c.operands, example.attributes);
  } else {
    const CompositeDef& composite = *find_composite(signature.name);
    const std::vector<TensorId> operands = c.operands;
    const Node node{.kind = NodeKind::kComposite,
                    .composite = &composite,
                    .operands = operands,
                    .attributes = example.attributes};
    results = composite.expand(b, node);
  }
  for (const TensorId result : results) {
    if (!is_float(b.type(result).dtype)) continue;
    const ExampleOperand drawn{b.type(result), Fill::kNormal, 0};
    const TensorId weights = b.add_input("weights", drawn.type);
    c.leaves[weights] = example_tensor(drawn, 99 + c.leaves.size());
    TensorId sum = b.op("reduce_sum", {b.op("mul", {result, weights})});
    if (b.type(sum).dtype == DType::kBF16) sum = b.op("cast", {sum}, {{"dtype", DType::kF32}});
    c.loss = c.loss == kNoTensor ? sum : b.op("add", {c.loss, sum});
  }
  c.forward = b.graph();
  const PerTensor<TensorId> gradients = differentiate(b, c.loss, b.constant(1, b.type(c.loss).dtype));
  for (const TensorId operand : c.operands) c.gradients.push_back(gradients[operand]);
  c.graph = std::move(b).build();
  return c;
}

double loss_with(const Case& c, TensorId operand, int64_t index, double change) {
  std::map<TensorId, HostTensor> leaves = c.leaves;
  set_element(leaves[operand], index, element(leaves[operand], index) + change);
  return element(interpret(c.forward, leaves)[c.loss], 0);
}

void check_gradients(const Case& c) {
  constexpr double kStep = 1e-5;
  const PerTensor<HostTensor> values = interpret(c.graph, c.leaves);
  for (size_t o = 0; o < c.operands.size(); ++o) {
    const TensorType& type = c.graph.type(c.operands[o]);
    if (!is_float(type.dtype)) {
      CHECK(c.gradients[o] == kNoTensor);
      continue;
    }
    // An operand without a gradient must not change the results.
    const HostTensor gradient = c.gradients[o] == kNoTensor ? HostTensor(type) : values[c.gradients[o]];
    for (int64_t i = 0; i < elements(type.dims); ++i) {
      CAPTURE(o);
      CAPTURE(i);
      const double expected =
          (loss_with(c, c.operands[o], i, kStep) - loss_with(c, c.operands[o], i, -kStep)) / (2 * kStep);
      CHECK(element(gradient, i) == doctest::Approx(expected).epsilon(1e-6).scale(1));
    }
  }
}

bool is_smooth(const Example& example) {
  return !example.operands.empty() &&
         std::all_of(example.operands.begin(), example.operands.end(), [](const ExampleOperand& operand) {
           return operand.type.dtype != DType::kF32 && operand.type.dtype != DType::kBF16 &&
                  operand.fill != Fill::kSteps;
         });
}

bool gives_f64(const Signature& signature, const Example& example) {
  std::vector<TensorType> types;
  for (const ExampleOperand& operand : example.operands) types.push_back(operand.type);
  return signature.infer({example.attributes, types})[0].dtype == DType::kF64;
}

double largest_in(const HostTensor& tensor) {
  double largest = 1;
  for (int64_t i = 0; i < elements(tensor.type.dims); ++i)
    largest = std::max(largest, std::abs(element(tensor, i)));
  return largest;
}

// Gradients in bf16 are those in f64 of the same operands, to rounding.
void check_gradients_in_bf16(const Signature& signature, const Example& example) {
  const Case narrow = case_of(signature, with_floats(example, DType::kBF16));
  Case wide = case_of(signature, with_floats(example, DType::kF64));
  auto rounded = narrow.leaves.begin();
  for (auto& [leaf, tensor] : wide.leaves) {
    for (int64_t i = 0; i < elements(tensor.type.dims); ++i)
      set_element(tensor, i, element(rounded->second, i));
    ++rounded;
  }
  const PerTensor<HostTensor> found = interpret(narrow.graph, narrow.leaves),
                              exact = interpret(wide.graph, wide.leaves);
  for (size_t o = 0; o < narrow.operands.size(); ++o) {
    if (narrow.gradients[o] == kNoTensor) continue;
    CAPTURE(o);
    const HostTensor &gradient = found[narrow.gradients[o]], &expected = exact[wide.gradients[o]];
    const double allowed = 0x1p-5 * largest_in(expected);
    for (int64_t i = 0; i < elements(gradient.type.dims); ++i) {
      CAPTURE(i);
      CHECK(std::abs(element(gradient, i) - element(expected, i)) <= allowed);
    }
  }
}

int check_examples(const Signature& signature) {
  int checked = 0;
  for (size_t i = 0; i < signature.examples.size(); ++i) {
    const Example& example = signature.examples[i];
    if (!is_smooth(example) || !gives_f64(signature, example)) continue;
    CAPTURE(signature.name);
    CAPTURE(i);
    check_gradients(case_of(signature, example));
    check_gradients_in_bf16(signature, example);
    ++checked;
  }
  return checked;
}

std::vector<double> gradient_of_input(std::string_view op, const std::vector<double>& x,
                                      const Attributes& attributes, const std::vector<double>& weights) {
  GraphBuilder b;
  const TensorType type{DType::kF64, {{"a", static_cast<int64_t>(x.size())}}};
  const TensorId input = b.add_input("x", type);
  const TensorId result = b.op(op, {input}, attributes);
  const TensorId weight = b.add_input("weights", b.type(result));
  const TensorId gradient = differentiate(b, result, weight)[input];
  const Graph graph = std::move(b).build();
  std::map<TensorId, HostTensor> leaves = {{input, HostTensor(type)},
                                           {weight, HostTensor(graph.type(weight))}};
  for (size_t i = 0; i < x.size(); ++i) set_element(leaves[input], static_cast<int64_t>(i), x[i]);
  for (size_t i = 0; i < weights.size(); ++i)
    set_element(leaves[weight], static_cast<int64_t>(i), weights[i]);
  const HostTensor value = interpret(graph, leaves)[gradient];
  return {value.as<double>(), value.as<double>() + x.size()};
}

/// The gradients of both operands, where each element of the result has the gradient `weight`.
std::pair<std::vector<double>, std::vector<double>> gradients_of_inputs(std::string_view op,
                                                                        const std::vector<double>& x,
                                                                        const std::vector<double>& y,
                                                                        double weight) {
  GraphBuilder b;
  const TensorType type{DType::kF64, {{"a", static_cast<int64_t>(x.size())}}};
  const TensorId first = b.add_input("x", type), second = b.add_input("y", type),
                 weights = b.add_input("weights", type);
  const TensorId result = b.op(op, {first, second});
  const PerTensor<TensorId> gradients = differentiate(b, result, weights);
  const PerTensor<HostTensor> values =
      interpret(std::move(b).build(), {{first, value_of(type, x)},
                                       {second, value_of(type, y)},
                                       {weights, value_of(type, std::vector<double>(x.size(), weight))}});
  const auto list = [&](TensorId of) { return numbers_of(values[gradients[of]]); };
  return {list(first), list(second)};
}

}  // namespace

TEST_CASE("gradients of all operations equal central differences") {
  for (const OpDef* op : all_ops()) {
    if (!op->gradient) continue;
    CAPTURE(op->signature.name);
    CHECK(check_examples(op->signature) > 0);
  }
}

TEST_CASE("gradients of all composites equal central differences") {
  for (const CompositeDef* composite : all_composites()) CHECK(check_examples(composite->signature) > 0);
}

TEST_CASE("where elements tie, they share the gradient of the maximum") {
  CHECK(gradient_of_input("reduce_max", {3, 1, 3, 2}, {}, {6}) == std::vector<double>{3, 0, 3, 0});
  CHECK(gradient_of_input("reduce_min", {3, 1, 1, 1}, {}, {6}) == std::vector<double>{0, 2, 2, 2});
}

TEST_CASE("relu has the gradient 0 at 0") {
  CHECK(gradient_of_input("relu", {-1, 0, 1}, {}, {5, 5, 5}) == std::vector<double>{0, 0, 5});
}

TEST_CASE("abs has the gradient 0 at 0") {
  CHECK(gradient_of_input("abs", {-2, 0, 2}, {}, {5, 5, 5}) == std::vector<double>{-5, 0, 5});
}

TEST_CASE("each factor's gradient is the product of the others, also of zeros") {
  CHECK(gradient_of_input("reduce_prod", {2, 3, 5}, {}, {1}) == std::vector<double>{15, 10, 6});
  CHECK(gradient_of_input("reduce_prod", {2, 0, 5}, {}, {3}) == std::vector<double>{0, 30, 0});
  CHECK(gradient_of_input("reduce_prod", {0, 3, 0}, {}, {1}) == std::vector<double>{0, 0, 0});
  CHECK(gradient_of_input("reduce_prod", {0}, {}, {7}) == std::vector<double>{7});
}

TEST_CASE("both operands of maximum and minimum take half where they tie") {
  const std::vector<double> x = {0, 1, 2}, y = {1, 1, 1};
  using Both = std::pair<std::vector<double>, std::vector<double>>;
  CHECK(gradients_of_inputs("maximum", x, y, 8) == Both{{0, 4, 8}, {8, 4, 0}});
  CHECK(gradients_of_inputs("minimum", x, y, 8) == Both{{8, 4, 0}, {0, 4, 8}});
}

TEST_CASE("pow with whole exponents has a gradient for any base") {
  using Both = std::pair<std::vector<double>, std::vector<double>>;
  CHECK(gradients_of_inputs("pow", {-3, 0, 0, 0, -2, 1}, {2, 2, 1, 0, -1, 5}, 2) ==
        Both{{-12, 0, 2, 0, -0.5, 10}, {0, 0, 0, 0, 0, 0}});
}

}  // namespace mtfc::interpreter_test
