#include "runtime/compute/index_check.h"

#include <doctest/doctest.h>

#include <string>

#include "core/op_rules/example.h"
#include "runtime/testing/example_data.h"
#include "runtime/testing/kernel_call.h"

namespace mtfc::index_check_test {
namespace {

const DType kF64 = DType::kF64, kI32 = DType::kI32;

std::string error_of(const KernelCall& call) {
  try {
    call_kernel(call);
  } catch (const RunError& error) {
    return error.what();
  }
  return "no error";
}

void add_to(std::vector<double>& sum, const std::vector<double>& part) {
  sum.resize(part.size());
  for (size_t i = 0; i < part.size(); ++i) sum[i] += part[i];
}

}  // namespace

TEST_CASE("an index out of range is named with its place in the global tensor") {
  const HostTensor table = example_tensor(normal("vocab=7 model=3"), 0);
  HostTensor indices(TensorType{kI32, dims_of("batch=5 length=2")});
  set_element(indices, 7, 12);
  KernelCall call{.op = "gather", .attributes = {{"dim", dim_of("vocab=7")}}, .operands = {table, indices}};
  CHECK(error_of(call) == "index 12 at [batch=3, length=1] is out of range: 'vocab' has 7");
  call.operand_boxes = {{{0, 3}, {0, 3}}, {{2, 5}, {0, 2}}};
  call.result_box = Box{{2, 5}, {0, 2}, {0, 3}};
  CHECK(error_of(call) == "index 12 at [batch=3, length=1] is out of range: 'vocab' has 7");
  set_element(call.operands[1], 7, -1);
  CHECK(error_of(call) == "index -1 at [batch=3, length=1] is out of range: 'vocab' has 7");
  const HostTensor updates = example_tensor(normal("batch=5 length=2"), 0);
  CHECK(error_of(
            {.op = "scatter_add", .attributes = call.attributes, .operands = {updates, call.operands[1]}}) ==
        "index -1 at [batch=3, length=1] is out of range: 'vocab' has 7");
}

TEST_CASE("checked_index passes what is in range, and refuses the rest") {
  KernelCall call{.op = "checked_index",
                  .attributes = {{"dim", dim_of("vocab=7")}},
                  .operands = {value_of({kI32, dims_of("batch=3")}, {6, 0, 2})}};
  CHECK(numbers_of(call_kernel(call).result) == std::vector<double>{6, 0, 2});
  set_element(call.operands[0], 2, 7);
  CHECK(error_of(call) == "index 7 at [batch=2] is out of range: 'vocab' has 7");
  set_element(call.operands[0], 2, -1);
  CHECK(error_of(call) == "index -1 at [batch=2] is out of range: 'vocab' has 7");
}

TEST_CASE("one_hot refuses an index out of range, and a device sets what falls into its part") {
  const TensorType type{kI32, dims_of("batch=3")};
  KernelCall call{
      .op = "one_hot", .attributes = {{"dim", dim_of("classes=5")}}, .operands = {value_of(type, {4, 0, 2})}};
  call.result_box = Box{{0, 3}, {2, 5}};
  CHECK(numbers_of(call_kernel(call).result) == std::vector<double>{0, 0, 1, 0, 0, 0, 1, 0, 0});
  call.operands = {value_of(type, {4, 5, 2})};
  CHECK(error_of(call) == "index 5 at [batch=1] is out of range: 'classes' has 5");
}

TEST_CASE("a piece that would not lie inside the tensor is refused, and a device writes its rows") {
  const HostTensor tensor = value_of({kF64, dims_of("length=5")}, {1, 2, 3, 4, 5});
  const HostTensor piece = value_of({kF64, dims_of("new=3")}, {7, 8, 9});
  KernelCall call{.op = "update_slice",
                  .attributes = {{"dim", dim_of("length=5")}, {"from", dim_of("new=3")}},
                  .operands = {tensor, piece, value_of({kI32, {}}, {1})}};
  CHECK(numbers_of(call_kernel(call).result) == std::vector<double>{1, 7, 8, 9, 5});
  call.operand_boxes = {{{2, 5}}, {{0, 3}}, {}};
  call.result_box = Box{{2, 5}};
  CHECK(numbers_of(call_kernel(call).result) == std::vector<double>{8, 9, 5});
  set_element(call.operands[2], 0, 3);
  CHECK(error_of(call) == "position 3 is out of range: 'length' has size 5, and the piece takes 3 of it");
  set_element(call.operands[2], 0, -1);
  CHECK(error_of(call) == "position -1 is out of range: 'length' has size 5, and the piece takes 3 of it");
}

TEST_CASE("gathers from the parts of a table add up to the gather") {
  const HostTensor table = example_tensor(normal("batch=5 vocab=7 model=3"), 0);
  const HostTensor picks = example_tensor(indices("length=2 batch=5", 7), 1);
  KernelCall call{.op = "gather", .attributes = {{"dim", dim_of("vocab=7")}}, .operands = {table, picks}};
  const std::vector<double> expected = numbers_of(call_kernel(call).result);
  for (const int64_t parts : {2, 3, 8}) {
    std::vector<double> sum;
    for (int64_t i = 0; i < parts; ++i) {
      call.operand_boxes = {{{0, 5}, shard_interval(7, parts, i), {0, 3}}, {{0, 2}, {0, 5}}};
      add_to(sum, numbers_of(call_kernel(call).result));
    }
    CHECK(sum == expected);
  }
}

TEST_CASE("a device scatters what falls into its part") {
  const HostTensor updates = example_tensor(normal("batch=5 model=3"), 0);
  const HostTensor picks = example_tensor(indices("batch=5", 7), 1);
  KernelCall call{
      .op = "scatter_add", .attributes = {{"dim", dim_of("vocab=7")}}, .operands = {updates, picks}};
  const std::vector<double> expected = numbers_of(call_kernel(call).result);
  for (const int64_t parts : {2, 3, 8}) {
    std::vector<double> joined;
    for (int64_t i = 0; i < parts; ++i) {
      call.result_box = Box{shard_interval(7, parts, i), {0, 3}};
      const std::vector<double> part = numbers_of(call_kernel(call).result);
      joined.insert(joined.end(), part.begin(), part.end());
    }
    CHECK(joined == expected);
  }
}

TEST_CASE("scatters of the parts of the updates add up, empty parts included") {
  const HostTensor updates = example_tensor(normal("batch=5 model=3"), 0);
  const HostTensor picks = example_tensor(indices("batch=5", 7), 1);
  KernelCall call{
      .op = "scatter_add", .attributes = {{"dim", dim_of("vocab=7")}}, .operands = {updates, picks}};
  const std::vector<double> expected = numbers_of(call_kernel(call).result);
  std::vector<double> sum;
  for (int64_t i = 0; i < 8; ++i) {
    const Interval batch = shard_interval(5, 8, i);
    call.operand_boxes = {{batch, {0, 3}}, {batch}};
    const KernelAnswer part = call_kernel(call);
    CHECK(part.flops == batch.size() * 3);
    add_to(sum, numbers_of(part.result));
  }
  for (size_t i = 0; i < sum.size(); ++i) CHECK(sum[i] == doctest::Approx(expected[i]).epsilon(1e-14));
}

TEST_CASE("large scatters and gathers are the same with threads") {
  const int64_t rows = 3000;
  const TensorType type{kF64, {{"batch", rows}, {"model", 33}}};
  const HostTensor updates = example_tensor({type, Fill::kSteps, 0}, 0);
  const HostTensor picks = example_tensor({{kI32, {{"batch", rows}}}, Fill::kIndex, 50}, 1);
  const KernelCall call{
      .op = "scatter_add", .attributes = {{"dim", Dim{"vocab", 50}}}, .operands = {updates, picks}};
  const HostTensor table = call_kernel(call).result;
  std::vector<double> expected(50 * 33);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < 33; ++j)
      expected[static_cast<size_t>(picks.as<int32_t>()[i] * 33 + j)] += updates.as<double>()[i * 33 + j];
  CHECK(numbers_of(table) == expected);
  const HostTensor back =
      call_kernel({.op = "gather", .attributes = {{"dim", Dim{"vocab", 50}}}, .operands = {table, picks}})
          .result;
  bool same = true;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < 33; ++j)
      same = same &&
             back.as<double>()[i * 33 + j] == expected[static_cast<size_t>(picks.as<int32_t>()[i] * 33 + j)];
  CHECK(same);
}

}  // namespace mtfc::index_check_test
