#include "runtime/compute/random.h"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "runtime/testing/example_data.h"
#include "runtime/testing/kernel_call.h"

namespace mtfc::random_test {
namespace {

using Words = std::array<uint32_t, 4>;

struct RandomOperation {
  std::string_view name;
  double (RandomNumbers::*number)(uint64_t index) const;
};
const RandomOperation kOperations[] = {
    {"random_uniform", &RandomNumbers::uniform},
    {"random_normal", &RandomNumbers::normal},
    {"random_truncated_normal", &RandomNumbers::truncated_normal},
};

}  // namespace

TEST_CASE("philox gives the published answers") {  // kat_vectors of Random123
  CHECK(philox4x32({0, 0, 0, 0}, {0, 0}) == Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(philox4x32({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}) ==
        Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
        Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("distributions have their moments and bounds") {
  constexpr int64_t kCount = 200000;
  const RandomNumbers numbers(stable_hash("x"), 1, 0);
  double uniform = 0, normal = 0, square = 0, truncated = 0, largest = 0;
  for (int64_t i = 0; i < kCount; ++i) {
    const auto index = static_cast<uint64_t>(i);
    const double u = numbers.uniform(index), z = numbers.normal(index), t = numbers.truncated_normal(index);
    CHECK_MESSAGE((u >= 0 && u < 1), u);
    uniform += u / kCount;
    normal += z / kCount;
    square += z * z / kCount;
    truncated += t * t / kCount;
    largest = std::max(largest, std::abs(t));
  }
  CHECK(uniform == doctest::Approx(0.5).epsilon(0.01));
  CHECK(std::abs(normal) < 0.01);
  CHECK(square == doctest::Approx(1).epsilon(0.02));
  CHECK(truncated == doctest::Approx(0.774).epsilon(0.02));  // variance of a normal cut at two deviations
  CHECK(largest <= 2);
  CHECK(largest > 1.99);
}

TEST_CASE("uniform numbers several at a time are those one at a time") {
  const RandomNumbers numbers(stable_hash("x"), 3, (int64_t{1} << 33) + 5);
  for (const uint64_t first : {uint64_t{0}, uint64_t{1}, uint64_t{31}, uint64_t{32}, (uint64_t{1} << 36) - 7})
    for (const int64_t count : {0, 1, 2, 33, 200}) {
      std::vector<double> doubles(static_cast<size_t>(count) + 1, -1);
      std::vector<float> floats(doubles.size(), -1);
      numbers.uniforms(first, count, doubles.data());
      numbers.uniforms(first, count, floats.data());
      for (int64_t i = 0; i < count; ++i) {
        const double expected = numbers.uniform(first + static_cast<uint64_t>(i));
        CHECK(doubles[static_cast<size_t>(i)] == expected);
        CHECK(floats[static_cast<size_t>(i)] == std::min(static_cast<float>(expected), 1 - 0x1p-24f));
      }
      CHECK(doubles.back() == -1);
      CHECK(floats.back() == -1);
    }
}

TEST_CASE("seed, name, step and index each give other numbers") {
  const RandomNumbers numbers(stable_hash("x"), 1, 0);
  CHECK(numbers.uniform(0) != numbers.uniform(1));
  CHECK(numbers.uniform(0) != numbers.uniform(2));
  CHECK(numbers.uniform(0) != RandomNumbers(stable_hash("y"), 1, 0).uniform(0));
  CHECK(numbers.uniform(0) != RandomNumbers(stable_hash("x"), 2, 0).uniform(0));
  CHECK(numbers.uniform(0) != RandomNumbers(stable_hash("x"), 1, 1).uniform(0));
  CHECK(numbers.uniform(0) != RandomNumbers(stable_hash("x"), 1, int64_t{1} << 32).uniform(0));
  CHECK(numbers.uniform(0) == RandomNumbers(stable_hash("x"), 1, 0).uniform(0));
}

TEST_CASE("a kernel draws each element's number by its position in the whole tensor") {
  // The numbers of result[a=5, b=7], under the name that call_kernel gives it.
  const RandomNumbers numbers(stable_hash("result"), 3, 4);
  for (const auto& [name, number] : kOperations)
    for (const DType dtype : {DType::kF64, DType::kF32}) {
      CAPTURE(name);
      KernelCall call{.op = name,
                      .attributes = {{"dims", Dims{{"a", 5}, {"b", 7}}}, {"dtype", dtype}},
                      .seed = 3,
                      .step = 4};
      for (const Box& box : {Box{{0, 5}, {0, 7}}, Box{{2, 4}, {3, 7}}}) {
        call.result_box = box;
        const HostTensor drawn = call_kernel(call).result;
        int64_t at = 0;
        for (int64_t a = box[0].begin; a < box[0].end; ++a)
          for (int64_t b = box[1].begin; b < box[1].end; ++b) {
            const double whole = (numbers.*number)(static_cast<uint64_t>(7 * a + b));
            CHECK(element(drawn, at++) == (dtype == DType::kF32 ? static_cast<float>(whole) : whole));
          }
      }
    }
}

TEST_CASE("a part of an interleaved tensor has the numbers of its rows there") {
  const RandomNumbers numbers(stable_hash("result"), 0, 0);
  for (const auto& [name, number] : kOperations) {
    CAPTURE(name);
    // Rows 0 to 2 of part 1 of 2 are rows 1, 3 and 5 of a tensor of six.
    const HostTensor drawn = call_kernel({.op = name,
                                          .attributes = {{"dims", Dims{{"a", 3}, {"b", 5}}},
                                                         {"dtype", DType::kF64},
                                                         {"interleaved", Dim{"a", 6}}},
                                          .operands = {value_of({DType::kI32, {}}, {1})}})
                                 .result;
    for (int64_t row = 0; row < 3; ++row)
      for (int64_t b = 0; b < 5; ++b)
        CHECK(element(drawn, 5 * row + b) == (numbers.*number)(static_cast<uint64_t>(5 * (2 * row + 1) + b)));
  }
}

}  // namespace mtfc::random_test
