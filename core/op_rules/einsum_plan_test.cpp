#include "core/op_rules/einsum_plan.h"

#include <doctest/doctest.h>

#include <array>

#include "core/op_rules/example.h"

namespace mtfc::einsum_plan_test {
namespace {

EinsumPlan plan(std::string_view first, std::string_view second, std::string_view result) {
  const auto type = [](std::string_view dims) { return held_whole({DType::kF32, dims_of(dims)}); };
  return plan_einsum(type(first), type(second), type(result));
}

bool copies(const EinsumPlan& plan) {
  return plan.a.packed || plan.b.packed || plan.c.packed;
}

}  // namespace

TEST_CASE("a layer, its two gradients and several contracted dimensions need no copy") {
  const EinsumPlan forward = plan("batch=5 rows=2 cols=3", "rows=2 cols=3 hidden=7", "batch=5 hidden=7");
  CHECK_FALSE(copies(forward));
  CHECK(forward.m == 5);
  CHECK(forward.n == 7);
  CHECK(forward.k == 6);
  CHECK_FALSE(forward.a.transposed);
  CHECK(forward.a.leading == 6);
  CHECK(forward.b.leading == 7);

  const EinsumPlan to_weights = plan("batch=5 hidden=7", "batch=5 rows=2 cols=3", "rows=2 cols=3 hidden=7");
  CHECK_FALSE(copies(to_weights));
  CHECK(to_weights.left == 1);
  CHECK(to_weights.a.transposed);
  CHECK(to_weights.m == 6);
  CHECK(to_weights.n == 7);
  CHECK(to_weights.k == 5);

  const EinsumPlan to_input = plan("batch=5 hidden=7", "rows=2 cols=3 hidden=7", "batch=5 rows=2 cols=3");
  CHECK_FALSE(copies(to_input));
  CHECK(to_input.b.transposed);
  CHECK(to_input.b.leading == 7);
  CHECK(to_input.n == 6);

  const EinsumPlan projection = plan("b=2 l=5 d=3", "b=2 l=5 h=4 k=7", "d=3 h=4 k=7");
  CHECK_FALSE(copies(projection));
  CHECK(projection.k == 10);
  CHECK(projection.n == 28);
}

TEST_CASE("attention is batched over strided matrices") {
  const EinsumPlan scores = plan("b=2 l=5 h=3 k=7", "b=2 m=4 h=3 k=7", "b=2 l=5 h=3 m=4");
  CHECK_FALSE(copies(scores));
  CHECK(to_string(scores.batch) == "b=2, h=3");
  CHECK(scores.a.leading == 21);
  CHECK(scores.b.transposed);
  CHECK(scores.c.leading == 12);
  CHECK(scores.a.batch_strides == std::vector<int64_t>{105, 7});
  CHECK(scores.c.batch_strides == std::vector<int64_t>{60, 4});
}

TEST_CASE("operands are copied where their groups are torn apart") {
  const EinsumPlan torn = plan("i=3 k=7 j=5", "k=7 l=2", "i=3 j=5 l=2");
  CHECK(torn.a.packed);
  CHECK_FALSE(torn.b.packed);
  CHECK_FALSE(torn.c.packed);
  CHECK(to_string(torn.a.packed_dims) == "i=3, j=5, k=7");
  CHECK(torn.workspace_bytes == 448);  // 105 f32, rounded up to 64 bytes

  const EinsumPlan result = plan("i=3 j=5", "k=7 j=5", "i=3 k=7");
  CHECK(result.workspace_bytes == 0);
  const EinsumPlan between = plan("i=3 p=2 j=5", "k=7 j=5", "i=3 k=7 p=2");
  CHECK(between.c.packed);
  CHECK_FALSE(between.a.packed);
  CHECK(to_string(between.c.packed_dims) == "k=7, i=3, p=2");

  const EinsumPlan last_batch = plan("i=3 j=5 b=2", "b=2 j=5 k=7", "i=3 k=7 b=2");
  CHECK(last_batch.a.packed);
  CHECK_FALSE(last_batch.b.packed);
  CHECK(last_batch.c.packed);
}

TEST_CASE("contracted dimensions take the order that spares a copy") {
  const EinsumPlan second = plan("a=2 k=3 x=5 l=7", "k=3 l=7 n=4", "a=2 x=5 n=4");
  CHECK(second.a.packed);
  CHECK_FALSE(second.b.packed);
  CHECK(to_string(second.contracted) == "k=3, l=7");
}

TEST_CASE("a dimension that one operand alone contracts is summed in its copy") {
  const EinsumPlan summed = plan("i=3 j=5 s=2", "j=5 t=7", "i=3");
  CHECK(summed.a.packed);
  CHECK(to_string(summed.a.packed_dims) == "i=3, j=5");
  CHECK(summed.b.packed);
  CHECK(to_string(summed.b.packed_dims) == "j=5");
}

TEST_CASE("products without contraction are element-wise") {
  CHECK(plan("i=3", "j=5", "j=5 i=3").multiplies);
  CHECK(plan("i=3 j=5", "j=5 i=3", "i=3 j=5").multiplies);
  CHECK_FALSE(plan("i=3 j=5", "j=5 i=3", "i=3").multiplies);
}

TEST_CASE("a long contracted group with a small result is cut into parts") {
  const EinsumPlan cut = plan("k=8192 m=5", "k=8192 n=7", "m=5 n=7");
  CHECK(cut.parts == 16);
  CHECK(cut.workspace_bytes == 16 * 5 * 7 * 4);
  CHECK(plan("k=8191 m=5", "k=8191 n=7", "m=5 n=7").workspace_bytes == 0);
  CHECK(plan("k=8192", "k=8192", "").workspace_bytes == 0);
  // A larger result is granted what its smallest shards may need.
  const EinsumPlan large = plan("k=8192 m=65", "k=8192 n=64", "m=65 n=64");
  CHECK(large.parts == 1);
  CHECK(large.workspace_bytes == 16 * 4096 * 4);
  const EinsumPlan batched = plan("b=2 k=8192 m=5", "k=8192 b=2", "m=5 b=2");
  CHECK(batched.parts == 16);
  CHECK(batched.parts_offset == 0);
  CHECK(batched.workspace_bytes == 16 * 10 * 4);
}

TEST_CASE("a box with gaps is copied, one without is not") {
  const auto type = [](std::string_view dims) { return held_whole({DType::kF32, dims_of(dims)}); };
  const LocalType first = type("m=3 k=7"), second = type("k=7 n=4"), result = type("m=3 n=4");
  CHECK_FALSE(copies(plan_einsum(first, second, result)));
  const EinsumPlan columns = plan_einsum({first, true}, second, result);
  CHECK(columns.a.packed);
  CHECK(columns.a.leading == 7);
  CHECK_FALSE(columns.b.packed);
  CHECK(plan_einsum(first, second, {result, true}).c.packed);
  // Whatever the sizes, so that the smaller shards of other devices need no more workspace.
  CHECK(plan_einsum({type("m=1 k=7"), true}, second, type("m=1 n=4")).a.packed);
}

TEST_CASE("smaller shards never need more workspace") {
  const auto needed = [](int64_t k, int64_t m, int64_t n) {
    const LocalDim over{"k", k}, row{"m", m}, column{"n", n};
    const LocalType first{DType::kF64, {row, over}}, second{DType::kF64, {over, column}},
        result{DType::kF64, {row, column}};
    return plan_einsum(first, second, result).workspace_bytes;
  };
  const int64_t sizes[] = {0, 1, 2, 63, 64, 65, 1000, 8191, 8192, 100000};
  for (const int64_t k : sizes)
    for (const int64_t m : sizes)
      for (const int64_t n : sizes)
        for (const auto& [more_k, more_m, more_n] : {std::array{1, 0, 0}, {0, 1, 0}, {0, 0, 1}})
          CHECK(needed(k, m, n) <= needed(k + more_k, m + more_m, n + more_n));
  const EinsumPlan large = plan("i=3 k=7 j=5", "k=7 l=2", "i=3 j=5 l=2");
  for (const char* small : {"i=1 k=7 j=1", "i=3 k=1 j=5", "i=1 k=1 j=1", "i=0 k=7 j=5"}) {
    CAPTURE(small);
    const LocalType first = held_whole({DType::kF32, dims_of(small)});
    const LocalDims& dims = first.dims;
    const LocalType second{DType::kF32, {dims[1], {"l", 1}}},
        result{DType::kF32, {dims[0], dims[2], {"l", 1}}};
    CHECK(plan_einsum(first, second, result).workspace_bytes <= large.workspace_bytes);
  }
}

}  // namespace mtfc::einsum_plan_test
