// Values of composites and of split rules, evaluated by the interpreter.

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "core/graph/op_registry.h"
#include "core/op_rules/example.h"
#include "runtime/testing/interpreter.h"
#include "runtime/testing/kernel_call.h"

namespace mtfc::composite_values_test {
namespace {

const double kNaN = std::numeric_limits<double>::quiet_NaN();

std::vector<double> composite(std::string_view name, const std::vector<HostTensor>& operands) {
  GraphBuilder b;
  const Attributes attributes = {{"over", dims_of("classes=3")}};
  std::vector<TensorId> ids;
  std::map<TensorId, HostTensor> leaves;
  for (const HostTensor& operand : operands) {
    ids.push_back(b.add_input("x" + std::to_string(ids.size()), operand.type));
    leaves[ids.back()] = operand;
  }
  const CompositeDef& def = *find_composite(name);
  const Node node{.kind = NodeKind::kComposite, .composite = &def, .operands = ids, .attributes = attributes};
  const TensorId result = def.expand(b, node)[0];
  return numbers_of(interpret(std::move(b).build(), leaves)[result]);
}

HostTensor logits(DType dtype) {
  return value_of({dtype, dims_of("batch=2 classes=3")}, {0, std::log(2), std::log(5), 1000, 1000, -1000});
}

void check_close(const std::vector<double>& values, const std::vector<double>& expected, double epsilon) {
  REQUIRE(values.size() == expected.size());
  for (size_t i = 0; i < values.size(); ++i) {
    CAPTURE(i);
    CHECK(values[i] == doctest::Approx(expected[i]).epsilon(epsilon));
  }
}

std::vector<double> argmax_by_split_rule(const HostTensor& x) {
  GraphBuilder b;
  const TensorId input = b.add_input("x", x.type);
  const OpDef& op = op_named("argmax");
  const Node node{
      .kind = NodeKind::kOp, .op = &op, .operands = {input}, .attributes = {{"over", dims_of("classes=3")}}};
  const TensorId result = op.split_rule(b, node, 2)[0];
  return numbers_of(interpret(std::move(b).build(), {{input, x}})[result]);
}

}  // namespace

TEST_CASE("every composite gives the results of its worked examples") {
  for (const CompositeDef* def : all_composites())
    for (const WorkedExample& worked : def->signature.worked) {
      CAPTURE(def->signature.name);
      GraphBuilder b;
      std::vector<TensorId> ids;
      std::map<TensorId, HostTensor> leaves;
      for (const KnownTensor& operand : worked.operands) {
        ids.push_back(b.add_input("x" + std::to_string(ids.size()), operand.type));
        leaves[ids.back()] = value_of(operand.type, operand.elements);
      }
      const Node node{
          .kind = NodeKind::kComposite, .composite = def, .operands = ids, .attributes = worked.attributes};
      const std::vector<TensorId> results = def->expand(b, node);
      const PerTensor<HostTensor> values = interpret(std::move(b).build(), leaves);
      for (size_t i = 0; i < results.size(); ++i)
        check_close(numbers_of(values[results[i]]), worked.results[i], 1e-6);
    }
}

TEST_CASE("the softmax family has its values, large logits included") {
  const double eighth = std::log(0.125), quarter = std::log(0.25), rest = std::log(0.625),
               half = std::log(0.5);
  for (const DType dtype : {DType::kF32, DType::kF64}) {
    const double epsilon = dtype == DType::kF32 ? 1e-6 : 1e-14;
    check_close(composite("softmax", {logits(dtype)}), {0.125, 0.25, 0.625, 0.5, 0.5, 0}, epsilon);
    check_close(composite("log_softmax", {logits(dtype)}), {eighth, quarter, rest, half, half, -2000 + half},
                epsilon);
    const HostTensor labels = value_of({DType::kI32, dims_of("batch=2")}, {1, 0});
    check_close(composite("softmax_cross_entropy", {logits(dtype), labels}), {-quarter, -half}, epsilon);
    const HostTensor shares = value_of({dtype, dims_of("classes=3 batch=2")}, {0.5, 0.25, 0.5, 0.75, 0, 0});
    check_close(composite("softmax_cross_entropy", {logits(dtype), shares}), {-(eighth + quarter) / 2, -half},
                epsilon);
  }
}

TEST_CASE("logsumexp has its values, large and infinite elements included") {
  const double inf = std::numeric_limits<double>::infinity();
  for (const DType dtype : {DType::kF32, DType::kF64}) {
    const double epsilon = dtype == DType::kF32 ? 1e-6 : 1e-14;
    check_close(composite("logsumexp", {logits(dtype)}), {std::log(8), 1000 + std::log(2)}, epsilon);
    const HostTensor infinite =
        value_of({dtype, dims_of("batch=2 classes=3")}, {-inf, -inf, -inf, 0, inf, 1});
    CHECK(composite("logsumexp", {infinite}) == std::vector<double>{-inf, inf});
  }
}

TEST_CASE("layer_norm and rms_norm have their values") {
  const HostTensor x = value_of({DType::kF64, dims_of("batch=2 classes=3")}, {1, 2, 3, 4, 4, 4});
  const double wide = 1 / std::sqrt(2.0 / 3 + 1e-5);
  check_close(composite("layer_norm", {x}), {-wide, 0, wide, 0, 0, 0}, 1e-14);
  const double first = 1 / std::sqrt(14.0 / 3 + 1e-6), second = 4 / std::sqrt(16 + 1e-6);
  check_close(composite("rms_norm", {x}), {first, 2 * first, 3 * first, second, second, second}, 1e-14);
}

TEST_CASE("a label out of range is an error of the gather") {
  const HostTensor labels = value_of({DType::kI32, dims_of("batch=2")}, {1, 3});
  CHECK_THROWS_WITH_AS(composite("softmax_cross_entropy", {logits(DType::kF32), labels}),
                       "index 3 at [batch=1] is out of range: 'classes' has 3", RunError);
}

TEST_CASE("argmax and its split rule take the lowest index, and the first not-a-number") {
  const HostTensor x = value_of({DType::kF32, dims_of("batch=5 classes=3")},
                                {1, 3, 3, kNaN, 5, kNaN, 0, kNaN, 9, -1, -1, -1, 2, 1, 0});
  const std::vector<double> expected = {1, 0, 1, 0, 0};
  const Attributes attributes = {{"over", dims_of("classes=3")}};
  CHECK(numbers_of(call_kernel({.op = "argmax", .attributes = attributes, .operands = {x}}).result) ==
        expected);
  CHECK(argmax_by_split_rule(x) == expected);
}

}  // namespace mtfc::composite_values_test
