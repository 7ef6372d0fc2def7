// Rings inside a node, with threads in place of ranks. The thread sanitizer runs it in
//   ctest --test-dir build -R node_protocol

#include "runtime/comm/node/node_ring.h"

#include <doctest/doctest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "runtime/memory/arena.h"

namespace mtfc::node_ring_test {
namespace {

constexpr int64_t kFloats = 100;  // of a slice
constexpr int64_t kSliceBytes = kFloats * 4;
constexpr int kRounds = 20;

// The memory that all threads see: pages, and for each member an arena with the operand and two places for sums.
struct Ring {
  explicit Ring(size_t members) {
    for (size_t m = 0; m < members; ++m) {
      pages.push_back(std::make_unique<GroupPage>());
      arenas.emplace_back(3 * kSliceBytes);
    }
  }
  std::vector<std::unique_ptr<GroupPage>> pages;
  std::vector<Arena> arenas;
};

float* floats(std::byte* at) {
  return reinterpret_cast<float*>(at);
}
const float* floats(const std::byte* at) {
  return reinterpret_cast<const float*>(at);
}

std::unique_ptr<PreparedRing> prepared(Ring& ring, NodeGroup& group, bool passes_result) {
  RingPlan plan;
  plan.self = group.self();
  plan.passes_result = passes_result;
  NodeSite site{group, {}, [] {}};
  for (size_t m = 0; m < group.size(); ++m) {
    plan.ranks.push_back(static_cast<int64_t>(m));
    plan.slice_elements.push_back(kFloats);
    site.arenas.push_back(ring.arenas[m].at(0));
  }
  return node_ring(std::move(plan), std::move(site));
}

// The operands of all members change from round to round.
int64_t wrong_of_operands(Ring& ring, NodeGroup& group) {
  const auto turning = prepared(ring, group, false);
  const size_t members = group.size();
  float* const own = floats(ring.arenas[group.self()].at(0));
  int64_t wrong = 0;
  for (int round = 0; round < kRounds; ++round) {
    for (int64_t i = 0; i < kFloats; ++i) own[i] = static_cast<float>(round + static_cast<int>(group.self()));
    turning->begin();
    for (size_t turn = 0; turn < members; ++turn) {
      const std::byte* slice = turning->take(turn);
      if (turn + 1 < members) turning->pass(turn, slice);
      const auto owner = static_cast<float>((group.self() + turn) % members);
      for (int64_t i = 0; i < kFloats; ++i) wrong += floats(slice)[i] != static_cast<float>(round) + owner;
    }
    turning->end();
  }
  return wrong + (turning->moved().elements != kRounds * static_cast<int64_t>(members - 1) * kFloats);
}

// Each sum has a digit for each member that has added to it.
int64_t wrong_of_results(Ring& ring, NodeGroup& group) {
  const auto turning = prepared(ring, group, true);
  const size_t members = group.size();
  const Arena& arena = ring.arenas[group.self()];
  int64_t wrong = 0;
  for (int round = 0; round < kRounds; ++round) {
    turning->begin();
    float* place = nullptr;
    for (size_t turn = 0; turn < members; ++turn) {
      place = floats(arena.at((1 + static_cast<int64_t>((members - turn) % 2)) * kSliceBytes));
      for (int64_t i = 0; i < kFloats; ++i) place[i] = static_cast<float>(1 << group.self());
      if (turn > 0) {
        const float* sum = floats(turning->take(turn));
        for (int64_t i = 0; i < kFloats; ++i) place[i] += sum[i];
      }
      if (turn + 1 < members) turning->pass(turn, reinterpret_cast<std::byte*>(place));
    }
    turning->end();
    for (int64_t i = 0; i < kFloats; ++i) wrong += place[i] != static_cast<float>((1 << members) - 1);
  }
  return wrong;
}

TEST_CASE("rings inside a node give every member every slice, and every sum all members") {
  for (const auto& [members, yields] : {std::pair{size_t{2}, false}, {2, true}, {3, true}, {5, true}})
    for (const bool passes_result : {false, true}) {
      CAPTURE(members);
      CAPTURE(passes_result);
      Ring ring(members);
      const Watchdog watchdog;
      std::atomic<int64_t> wrong = 0;
      std::vector<std::thread> threads;
      for (size_t m = 0; m < members; ++m)
        threads.emplace_back([&, m, yields = yields] {
          std::vector<GroupPage*> pages;
          for (const auto& page : ring.pages) pages.push_back(page.get());
          NodeGroup group(pages, m, {watchdog, yields});
          wrong += passes_result ? wrong_of_results(ring, group) : wrong_of_operands(ring, group);
        });
      for (std::thread& thread : threads) thread.join();
      CHECK(wrong == 0);
    }
}

}  // namespace
}  // namespace mtfc::node_ring_test
