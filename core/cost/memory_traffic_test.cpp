#include "core/cost/memory_traffic.h"

#include <doctest/doctest.h>

#include "core/testing/steps_by_hand.h"

namespace mtfc::memory_traffic_test {

namespace {

constexpr int64_t kSmall = 4000, kLarge = 40'000;

// Values with a buffer each: 0 and 1 have kSmall bytes, 2 and 3 kLarge. Value 4 lies in the memory of 0.
EntryPoint values() {
  EntryPoint entry;
  int64_t offset = 0;
  for (const int64_t bytes : {kSmall, kSmall, kLarge, kLarge}) {
    entry.values.push_back(
        {"v", {DType::kF32, {{"n", bytes / 4}}}, replicated(1), BufferId(entry.buffers.size())});
    entry.buffers.push_back({BufferKind::kActivation, bytes, offset, 0, 0});
    offset += bytes;
  }
  entry.values.push_back({"w", {DType::kF32, {{"n", kSmall / 4}}}, replicated(1), BufferId(4)});
  entry.buffers.push_back({BufferKind::kActivation, kSmall, 0, 0, 0});
  return entry;
}

std::vector<std::vector<MemoryAccess>> traffic(const EntryPoint& entry) {
  return memory_traffic(entry, Mesh());
}

}  // namespace

TEST_CASE("a kernel alone comes back to all that it touches") {
  EntryPoint entry = values();
  entry.steps = {kernel_step("neg", {0}, 1)};
  const auto found = traffic(entry);
  REQUIRE(found[0].size() == 2);
  CHECK(found[0][0].bytes == kSmall);
  CHECK(found[0][0].distance == 2 * kSmall);
  CHECK_FALSE(found[0][0].writes);
  CHECK(found[0][1].distance == 2 * kSmall);
  CHECK(found[0][1].writes);
}

TEST_CASE("what runs in between is the distance") {
  EntryPoint entry = values();
  entry.steps = {kernel_step("neg", {0}, 1), kernel_step("neg", {2}, 3), kernel_step("neg", {1}, 4)};
  const auto found = traffic(entry);
  CHECK(found[2][0].distance == 2 * kSmall + 2 * kLarge);
  // 4 lies in the memory of 0, so the first step of the next run finds it in the cache.
  CHECK(found[0][0].distance == 2 * kSmall);
  CHECK(found[1][0].distance == 4 * kSmall + 2 * kLarge);
}

TEST_CASE("what is written in place was read, and operands that are one are read once") {
  EntryPoint entry = values();
  entry.steps = {kernel_step("add", {0, 0}, 0)};
  const auto found = traffic(entry);
  REQUIRE(found[0].size() == 2);
  CHECK_FALSE(found[0][1].writes);
}

TEST_CASE("a part of a buffer that something else has touched") {
  EntryPoint entry = values();
  // Half of 0, in memory of its own.
  entry.values.push_back({"h", {DType::kF32, {{"n", kSmall / 8}}}, replicated(1), BufferId(5)});
  entry.buffers.push_back({BufferKind::kActivation, kSmall / 2, kSmall / 2, 0, 0});
  entry.steps = {kernel_step("neg", {0}, 1), kernel_step("neg", {2}, 3), kernel_step("neg", {5}, 5)};
  const auto found = traffic(entry);
  REQUIRE(found[0].size() == 3);
  CHECK(found[0][0].bytes == kSmall / 2);
  CHECK(found[0][0].distance == 2 * kSmall + 2 * kLarge + kSmall);
  CHECK(found[0][1].bytes == kSmall / 2);
  CHECK(found[0][1].distance == kSmall);
}

TEST_CASE("in a loop the second round counts") {
  EntryPoint entry = values();
  Step loop, repeat;
  loop.action = BeginLoop{StepIndex(3), 5};
  repeat.action = RepeatLoop{StepIndex(1)};
  entry.steps = {kernel_step("neg", {2}, 3), loop, kernel_step("neg", {0}, 1), repeat};
  const auto found = traffic(entry);
  CHECK(found[1].empty());
  CHECK(found[3].empty());
  CHECK(found[2][0].distance == 2 * kSmall);
  CHECK(found[0][0].distance == 2 * kLarge + 4 * kSmall);
}

}  // namespace mtfc::memory_traffic_test
