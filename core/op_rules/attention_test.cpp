#include "core/op_rules/attention.h"

#include <doctest/doctest.h>

#include <algorithm>

namespace mtfc::attention_test {
namespace {

Attributes attributes_of(int64_t queries, int64_t memory, bool causal, int64_t window) {
  return {{"over", Dim{"m", memory}},
          {"dim", Dim{"k", 8}},
          {"positions", Dim{"l", queries}},
          {"causal", causal},
          {"window", window}};
}

// One head of l=`queries` of `length` queries to m=`positions` of `memory` positions, those of the last device.
double share(int64_t length, int64_t queries, int64_t memory, int64_t positions, bool causal,
             int64_t window) {
  const Attributes attributes = attributes_of(length, memory, causal, window);
  const LocalType q = {DType::kF32, {{"l", queries}, {"k", 8}}},
                  k = {DType::kF32, {{"m", positions}, {"k", 8}}};
  const std::vector<LocalType> operands = {q, k, k};
  return share_computed({attributes, operands});
}

}  // namespace

TEST_CASE("the share of pairs that a kernel computes: queries together, and those of the last device") {
  CHECK(share(256, 256, 256, 256, false, 0) == 1);
  CHECK(share(64, 64, 64, 64, true, 0) == 1);                           // one tile
  CHECK(share(256, 256, 256, 256, true, 0) == 0.625);                   // 64, 128, 192 and 256 columns of 256
  CHECK(share(256, 128, 256, 256, true, 0) == 0.875);                   // the last two of these tiles
  CHECK(share(256, 256, 256, 128, true, 0) == doctest::Approx(0.375));  // 0, 0, 64 and 128 columns of 128
  CHECK(share(1024, 1024, 1024, 1024, true, 4) == doctest::Approx((64.0 + 15 * 67) / (16 * 4)));
  CHECK(share(1024, 1024, 1024, 1024, false, 4) == doctest::Approx((67.0 + 14 * 70 + 67) / (16 * 7)));
  CHECK(share(1 << 30, 1 << 30, 1 << 30, 1 << 30, true, 0) == doctest::Approx(0.5).epsilon(0.01));
  CHECK(share(256, 0, 256, 256, true, 0) == 1);
}

TEST_CASE("the share of pairs that are seen is exact") {
  for (const bool causal : {false, true})
    for (const int64_t window : {0, 1, 2, 5, 9, 100})
      for (const int64_t queries : {1, 4, 9})
        for (const int64_t memory : {1, 3, 9}) {
          int64_t seen = 0;
          for (int64_t i = 0; i < queries; ++i)
            for (int64_t j = 0; j < memory; ++j)
              seen += (!causal || j <= i) && (window == 0 || (i - j < window && j - i < window));
          const Attributes attributes = attributes_of(queries, memory, causal, window);
          CAPTURE(causal);
          CAPTURE(window);
          CAPTURE(queries);
          CAPTURE(memory);
          const int64_t places = std::min(window, memory);
          const int64_t counted = window == 0 ? memory : std::min(memory, causal ? places : 2 * places - 1);
          CHECK(share_seen(attributes) * static_cast<double>(queries * counted) ==
                doctest::Approx(static_cast<double>(seen)));
        }
}

TEST_CASE("the share of pairs that are seen is at most the share that is computed") {
  for (const bool causal : {false, true})
    for (const int64_t window : {0, 1, 5, 100, 1000})
      for (const int64_t length : {1, 63, 64, 200, 1000}) {
        const Attributes attributes = attributes_of(length, length, causal, window);
        CAPTURE(causal);
        CAPTURE(window);
        CAPTURE(length);
        CHECK(share_seen(attributes) <= share(length, length, length, length, causal, window) * (1 + 1e-9));
      }
}

TEST_CASE("with a window, pairs count where it reaches, wherever queries and memory are split") {
  const Attributes causal = attributes_of(1024, 1024, true, 100),
                   both = attributes_of(1024, 1024, false, 100);
  const auto pairs = [](const Attributes& attributes, int64_t queries, int64_t positions) {
    const LocalType q = {DType::kF32, {{"l", queries}, {"k", 8}}},
                    k = {DType::kF32, {{"m", positions}, {"k", 8}}};
    const std::vector<LocalType> operands = {q, k, k};
    return attention_sizes({attributes, operands}).pairs();
  };
  CHECK(pairs(causal, 1024, 1024) == 1024 * 100);
  CHECK(pairs(both, 1024, 1024) == 1024 * 199);
  CHECK(pairs(causal, 256, 256 + 99) == 256 * 100);  // one of four devices, with its halo
  CHECK(pairs(attributes_of(1024, 1024, true, 0), 256, 1024) == 256 * 1024);
  CHECK(pairs(attributes_of(1024, 64, true, 100), 256, 64) == 256 * 64);
}

}  // namespace mtfc::attention_test
