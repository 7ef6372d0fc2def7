// Operations along a split dimension: their split rules give what they give on the whole, also for values
// that are no numbers, and their kernels take the parts of one device.

#include "core/parts.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "core/example.h"
#include "core/op_registry.h"
#include "runtime/example_data.h"
#include "runtime/kernel_call.h"

namespace mtfc {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNaN = std::numeric_limits<double>::quiet_NaN();

std::vector<std::vector<double>> by_split_rule(std::string_view op, const HostTensor& x,
                                               const Attributes& attributes, int64_t parts) {
  GraphBuilder b;
  const TensorId input = b.add_input("x", x.type);
  const OpDef& def = op_named(op);
  const Node node{.kind = NodeKind::kOp, .op = &def, .operands = {input}, .attributes = attributes};
  const std::vector<TensorId> results = def.split_rule(b, node, parts);
  const std::vector<HostTensor> values = interpret(std::move(b).build(), {{input, x}});
  std::vector<std::vector<double>> numbers;
  for (const TensorId id : results) numbers.push_back(numbers_of(values[static_cast<size_t>(id)]));
  return numbers;
}

bool same(const std::vector<double>& a, const std::vector<double>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); });
}

Attributes top(std::string_view dim, int64_t k) {
  return {{"dim", dim_of(dim)}, {"to", Dim{"best", k}}};
}

// The three largest of each column of a[7, 2].
const TensorType kColumns{DType::kF32, dims_of("a=7 column=2")};
const std::vector<double> kMixed = {1, -kInf, kNaN, kInf, 3, -kInf, 3, kInf, kNaN, 0, kInf, -kInf, -kInf, 0};

}  // namespace

TEST_CASE("top_k ranks not-a-number first, then by value, then by index") {
  const KernelAnswer answer =
      call_kernel({.op = "top_k", .attributes = top("a=7", 6), .operands = {tensor_of(kColumns, kMixed)}});
  CHECK(same(numbers_of(answer.result), {kNaN, kNaN, kInf, 3, 3, 1, kInf, kInf, 0, 0, -kInf, -kInf}));
  CHECK(numbers_of(answer.others.at(0)) == std::vector<double>{1, 4, 5, 2, 3, 0, 1, 3, 4, 6, 0, 2});
}

TEST_CASE("top_k of parts is top_k of the whole, whatever the values, also where parts are short or empty") {
  std::vector<HostTensor> operands = {tensor_of(kColumns, kMixed),
                                      tensor_of(kColumns, std::vector<double>(14, -kInf)),
                                      tensor_of(kColumns, std::vector<double>(14, kNaN)),
                                      example_tensor(steps("a=7 column=2", DType::kI64), 1)};
  const double least = std::numeric_limits<int32_t>::min();
  operands.push_back(tensor_of({DType::kI32, dims_of("a=7 column=2")}, std::vector<double>(14, least)));
  for (const HostTensor& x : operands)
    for (int64_t k = 1; k <= 7; ++k) {
      const KernelAnswer whole = call_kernel({.op = "top_k", .attributes = top("a=7", k), .operands = {x}});
      for (int64_t parts = 2; parts <= 9; ++parts) {
        CAPTURE(k);
        CAPTURE(parts);
        const auto split = by_split_rule("top_k", x, top("a=7", k), parts);
        CHECK(same(split.at(0), numbers_of(whole.result)));
        CHECK(split.at(1) == numbers_of(whole.others.at(0)));
      }
    }
}

TEST_CASE("a device takes the parts and the ranks that it holds") {
  const TensorType type{DType::kF64, dims_of("a=5")};
  Attributes attributes = top("a=5", 3);
  attributes.set("parts", parts_dim(4));
  // Parts of a are [0,1) [1,2) [2,3) [3,5); the second of two devices holds the last two.
  const KernelAnswer answer = call_kernel({.op = "top_k",
                                           .attributes = attributes,
                                           .operands = {tensor_of(type, {9, 8, 7, 5, 6})},
                                           .operand_boxes = {{{2, 5}}},
                                           .result_box = Box{{2, 4}, {1, 3}},
                                           .other_boxes = {{{2, 4}, {1, 3}}}});
  const double none = std::numeric_limits<int32_t>::max(), least = std::numeric_limits<double>::lowest();
  CHECK(numbers_of(answer.result) == std::vector<double>{least, least, 5, least});
  CHECK(numbers_of(answer.others.at(0)) == std::vector<double>{none, none, 3, none});
  attributes = {{"dim", dim_of("a=5")}, {"parts", parts_dim(4)}};
  const KernelAnswer sums = call_kernel({.op = "cumsum",
                                         .attributes = attributes,
                                         .operands = {tensor_of(type, {9, 8, 7, 5, 6})},
                                         .operand_boxes = {{{2, 5}}},
                                         .result_box = Box{{2, 5}},
                                         .other_boxes = {{{2, 4}}}});
  CHECK(numbers_of(sums.result) == std::vector<double>{7, 5, 11});
  CHECK(numbers_of(sums.others.at(0)) == std::vector<double>{7, 11});
}

TEST_CASE("cumsum of parts is cumsum of the whole") {
  const HostTensor x = example_tensor(steps("b=2 a=11 c=3", DType::kI32), 3);
  for (const bool exclusive : {false, true})
    for (const bool reverse : {false, true}) {
      const Attributes attributes = {{"dim", dim_of("a=11")}, {"exclusive", exclusive}, {"reverse", reverse}};
      const KernelAnswer whole = call_kernel({.op = "cumsum", .attributes = attributes, .operands = {x}});
      for (int64_t parts = 2; parts <= 13; ++parts) {
        CAPTURE(parts);
        CHECK(by_split_rule("cumsum", x, attributes, parts).at(0) == numbers_of(whole.result));
      }
    }
}

TEST_CASE("long sums of f32 keep their digits, and integers wrap around") {
  const int64_t count = 1 << 20;
  const HostTensor x = tensor_of({DType::kF32, {{"a", count}}}, std::vector<double>(count, 0.1f));
  const KernelAnswer sums =
      call_kernel({.op = "cumsum", .attributes = {{"dim", Dim{"a", count}}}, .operands = {x}});
  CHECK(element(sums.result, count - 1) == doctest::Approx(0.1f * static_cast<double>(count)).epsilon(1e-7));
  const HostTensor large = tensor_of({DType::kI32, dims_of("a=3")}, {2147483647, 1, 1});
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
    CHECK(by_split_rule("cumsum", x, {{"dim", dim_of(dim)}}, 3).at(0) == numbers_of(sums.result));
    CHECK(by_split_rule("top_k", x, top(dim, 7), 3).at(1) == numbers_of(best.others.at(0)));
  }
}

}  // namespace mtfc
