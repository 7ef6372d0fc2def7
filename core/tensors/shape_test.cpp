#include "core/tensors/shape.h"

#include <doctest/doctest.h>

#include <span>
#include <type_traits>

#include "core/tensors/sharding.h"

namespace mtfc::shape_test {
namespace {

// True if neither type can be made from the other, not even explicitly.
template <typename A, typename B>
constexpr bool kStrangers = !std::is_constructible_v<A, B> && !std::is_constructible_v<B, A> &&
                            !std::is_assignable_v<A&, B> && !std::is_assignable_v<B&, A>;

static_assert(kStrangers<Dim, LocalDim>);
static_assert(kStrangers<Dims, LocalDims>);
static_assert(kStrangers<TensorType, LocalType>);
static_assert(kStrangers<std::span<const TensorType>, std::vector<LocalType>>);
static_assert(kStrangers<std::span<const LocalType>, std::vector<TensorType>>);

template <typename A, typename B>
concept Comparable = requires(const A& a, const B& b) {
  a == b;
};
template <typename A, typename B>
concept Unitable = requires(const A& a, const B& b) {
  unite(a, b);
};
template <typename T>
concept HasShards = requires(const T& dims) {
  local_dims(dims, Box());
};

static_assert(Comparable<Dims, Dims> && Comparable<LocalDims, LocalDims> && !Comparable<Dims, LocalDims>);
static_assert(Unitable<Dims, Dims> && Unitable<LocalDims, LocalDims> && !Unitable<Dims, LocalDims>);
static_assert(HasShards<Dims> && !HasShards<LocalDims>);

TEST_CASE("local dimensions have the names of the global ones, and the sizes of a shard") {
  const Dims dims{{"n", 5}, {"m", 3}};
  const LocalDims local = local_dims(dims, {{2, 3}, {0, 3}});
  CHECK(local == LocalDims{{"n", 1}, {"m", 3}});
  CHECK(elements(local) == 3);
  CHECK(bytes(LocalType{DType::kF64, local}) == 24);
  CHECK(position(local, "m") == 1);
  CHECK_FALSE(contains(local, "k"));
  CHECK(to_string(local) == "n=1, m=3");

  const Mesh mesh({{"rows", 2}, {"cols", 2}});
  const Sharding sharding{{{0, 1}, {}}, {}};
  CHECK(local_dims(dims, sharding, mesh, {1, 0}) == local);
  CHECK(largest_dims(dims, sharding, mesh) == LocalDims{{"n", 2}, {"m", 3}});
}

TEST_CASE("a device that holds whole tensors has local types of their global sizes") {
  const std::vector<TensorType> types{{DType::kI32, {{"n", 5}, {"m", 3}}}, {DType::kBool, {}}};
  const std::vector<LocalType> local = held_whole(types);
  REQUIRE(local.size() == 2);
  CHECK(local[0] == LocalType{DType::kI32, {{"n", 5}, {"m", 3}}});
  CHECK(local[1] == LocalType{DType::kBool, {}});
  CHECK(held_whole(types[0]) == local[0]);
  CHECK(bytes(local[0]) == bytes(types[0]));
}

}  // namespace
}  // namespace mtfc::shape_test
