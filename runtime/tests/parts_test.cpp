// Operations along a split dimension: their split rules agree with the unsplit operation, NaN included, and
// their kernels accept the parts of one device.

#include "core/op_rules/parts.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "core/graph/op_registry.h"
#include "core/op_rules/example.h"
#include "runtime/testing/example_data.h"
#include "runtime/testing/kernel_call.h"

namespace mtfc::parts_test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNaN = std::numeric_limits<double>::quiet_NaN();

/// The results, and whether the rule works in parts.
struct SplitAnswer {
  std::vector<std::vector<double>> results;
  bool in_parts = false;
};

SplitAnswer by_split_rule(std::string_view op, const HostTensor& x, const Attributes& attributes,
                          int64_t parts) {
  GraphBuilder b;
  const TensorId input = b.add_input("x", x.type);
  const OpDef& def = op_named(op);
  const Node node{.kind = NodeKind::kOp, .op = &def, .operands = {input}, .attributes = attributes};
  const std::vector<TensorId> results = def.split_rule(b, node, parts);
  const Graph graph = std::move(b).build();
  SplitAnswer answer;
  for (const Node& own : graph.nodes()) answer.in_parts |= own.attributes.has("parts");
  const PerTensor<HostTensor> values = interpret(graph, {{input, x}});
  for (const TensorId id : results) answer.results.push_back(numbers_of(values[id]));
  return answer;
}

bool same(const std::vector<double>& a, const std::vector<double>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); });
}

Attributes top(std::string_view dim, int64_t k) {
  return {{"dim", dim_of(dim)}, {"to", Dim{"best", k}}};
}

const TensorType kColumns{DType::kF32, dims_of("a=7 column=2")};
const std::vector<double> kMixed = {1, -kInf, kNaN, kInf, 3, -kInf, 3, kInf, kNaN, 0, kInf, -kInf, -kInf, 0};

/// Values with ties, infinities and NaNs.
std::vector<double> many_mixed(int64_t count) {
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(kMixed[static_cast<size_t>(i * i + i / 3) % 14]);
  return values;
}

}  // namespace

TEST_CASE("top_k ranks not-a-number first, then by value, then by index") {
  const KernelAnswer answer =
      call_kernel({.op = "top_k", .attributes = top("a=7", 6), .operands = {value_of(kColumns, kMixed)}});
  CHECK(same(numbers_of(answer.result), {kNaN, kNaN, kInf, 3, 3, 1, kInf, kInf, 0, 0, -kInf, -kInf}));
  CHECK(numbers_of(answer.others.at(0)) == std::vector<double>{1, 4, 5, 2, 3, 0, 1, 3, 4, 6, 0, 2});
}

TEST_CASE("top_k of parts is top_k of the whole, whatever the values") {
  const TensorType type{DType::kF32, dims_of("a=37 column=2")};
  const std::vector<HostTensor> operands = {
      value_of(type, many_mixed(74)), value_of(type, std::vector<double>(74, -kInf)),
      value_of(type, std::vector<double>(74, kNaN)), example_tensor(steps("column=2 a=37", DType::kI64), 1),
      value_of({DType::kI32, type.dims}, std::vector<double>(74, std::numeric_limits<int32_t>::min()))};
  for (const HostTensor& x : operands)
    for (int64_t k = 1; k <= 37; k += 1 + k / 5)
      for (int64_t parts = 2; parts <= 39; ++parts) {
        CAPTURE(k);
        CAPTURE(parts);
        const KernelAnswer whole =
            call_kernel({.op = "top_k", .attributes = top("a=37", k), .operands = {x}});
        const SplitAnswer split = by_split_rule("top_k", x, top("a=37", k), parts);
        CHECK(same(split.results.at(0), numbers_of(whole.result)));
        CHECK(split.results.at(1) == numbers_of(whole.others.at(0)));
        if (2 * k * parts < 37) CHECK(split.in_parts);
      }
}

TEST_CASE("a device takes the parts and the ranks that it holds") {
  const TensorType type{DType::kF64, dims_of("a=7")};
  const HostTensor x = value_of(type, {9, 8, 5, 7, 6, 2, 4});
  // Parts of a are [0,1) [1,3) [3,5) [5,7); the second of two devices holds the last two.
  Attributes attributes = {{"dim", dim_of("a=7")}, {"parts", parts_dim(4)}};
  const KernelAnswer sums = call_kernel({.op = "cumsum",
                                         .attributes = attributes,
                                         .operands = {x},
                                         .operand_boxes = {{{3, 7}}},
                                         .result_box = Box{{3, 7}},
                                         .other_boxes = {{{2, 4}}}});
  CHECK(numbers_of(sums.result) == std::vector<double>{7, 13, 2, 6});
  CHECK(numbers_of(sums.others.at(0)) == std::vector<double>{13, 6});
  attributes.set("to", Dim{"best", 2});
  const KernelAnswer answer = call_kernel({.op = "top_k",
                                           .attributes = attributes,
                                           .operands = {x},
                                           .operand_boxes = {{{3, 7}}},
                                           .result_box = Box{{2, 4}, {1, 2}},
                                           .other_boxes = {{{2, 4}, {1, 2}}}});
  CHECK(numbers_of(answer.result) == std::vector<double>{6, 2});
  CHECK(numbers_of(answer.others.at(0)) == std::vector<double>{4, 5});
}

TEST_CASE("cumsum of parts is cumsum of the whole") {
  const HostTensor x = example_tensor(steps("b=2 a=11 c=3", DType::kI32), 3);
  for (const bool exclusive : {false, true})
    for (const bool reverse : {false, true}) {
      const Attributes attributes = {{"dim", dim_of("a=11")}, {"exclusive", exclusive}, {"reverse", reverse}};
      const KernelAnswer whole = call_kernel({.op = "cumsum", .attributes = attributes, .operands = {x}});
      for (int64_t parts = 2; parts <= 13; ++parts) {
        CAPTURE(parts);
        const SplitAnswer split = by_split_rule("cumsum", x, attributes, parts);
        CHECK(split.results.at(0) == numbers_of(whole.result));
        CHECK(split.in_parts == (parts < 11));
      }
    }
}

TEST_CASE("long sums of f32 keep their digits, and integers wrap around") {
  const int64_t count = 1 << 20;
  const HostTensor x = value_of({DType::kF32, {{"a", count}}}, std::vector<double>(count, 0.1f));
  const KernelAnswer sums =
      call_kernel({.op = "cumsum", .attributes = {{"dim", Dim{"a", count}}}, .operands = {x}});
  CHECK(element(sums.result, count - 1) == doctest::Approx(0.1f * static_cast<double>(count)).epsilon(1e-7));
  const HostTensor large = value_of({DType::kI32, dims_of("a=3")}, {2147483647, 1, 1});
  const KernelAnswer wrapped =
      call_kernel({.op = "cumsum", .attributes = {{"dim", dim_of("a=3")}}, .operands = {large}});
  CHECK(numbers_of(wrapped.result) == std::vector<double>{2147483647, -2147483648.0, -2147483647});
}

TEST_CASE("large sums and rankings are the same with threads") {
  const HostTensor x = example_tensor({{DType::kI64, dims_of("a=70 b=90 c=50")}, Fill::kSteps, 0}, 5);
  for (const char* dim : {"a=70", "b=90", "c=50"}) {
    const KernelAnswer sums =
        call_kernel({.op = "cumsum", .attributes = {{"dim", dim_of(dim)}}, .operands = {x}});
    const KernelAnswer best = call_kernel({.op = "top_k", .attributes = top(dim, 7), .operands = {x}});
    CHECK(by_split_rule("cumsum", x, {{"dim", dim_of(dim)}}, 3).results.at(0) == numbers_of(sums.result));
    CHECK(by_split_rule("top_k", x, top(dim, 7), 3).results.at(1) == numbers_of(best.others.at(0)));
  }
}

}  // namespace mtfc::parts_test
