// Collectives inside a node, with threads in place of ranks: every thread has its own view of the groups,
// while arenas and pages are memory that all of them see, as with processes. The thread sanitizer runs it in
//   ctest --test-dir build -R node_protocol

#include "runtime/comm/node/node_collectives.h"

#include <doctest/doctest.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "runtime/comm/node/node_collective.h"
#include "runtime/memory/bulk_copy.h"
#include "runtime/testing/collective_cases.h"

namespace mtfc::node_collectives_test {
namespace {

// The pages of groups by their ranks, as all threads see them.
class Pages {
 public:
  std::vector<GroupPage*> of(const std::vector<int64_t>& ranks) {
    const std::lock_guard lock(mutex_);
    std::vector<std::unique_ptr<GroupPage>>& pages = pages_[ranks];
    for (size_t i = pages.size(); i < ranks.size(); ++i) pages.push_back(std::make_unique<GroupPage>());
    std::vector<GroupPage*> found;
    for (const std::unique_ptr<GroupPage>& page : pages) found.push_back(page.get());
    return found;
  }

 private:
  std::mutex mutex_;
  std::map<std::vector<int64_t>, std::vector<std::unique_ptr<GroupPage>>> pages_;
};

// A case with memory for every device.
struct Trial {
  CollectiveCase c;
  EntryPoint entry;
  std::vector<Arena> arenas;
  explicit Trial(const CollectiveCase& of) : c(of), entry(collective_entry(of)) {
    for (int64_t i = 0; i < c.mesh.devices(); ++i) arenas.emplace_back(entry.arena_bytes);
  }
};

// One device, as a process holds it.
class Device {
 public:
  Device(int64_t rank, Pages& pages, const Waiting& waiting)
      : rank_(rank), pages_(pages), waiting_(waiting) {}

  std::unique_ptr<PreparedCollective> prepare(Trial& trial) {
    const CollectivePlan plan = plan_collective(trial.entry, trial.entry.steps[0], trial.c.mesh, at(trial));
    std::unique_ptr<NodeGroup>& group = groups_[plan.ranks];
    if (!group) group = std::make_unique<NodeGroup>(pages_.of(plan.ranks), plan.self, waiting_);
    NodeSite site{*group, {}, [] {}};
    for (const int64_t rank : plan.ranks)
      site.arenas.push_back(trial.arenas[static_cast<size_t>(rank)].at(0));
    const Step& step = trial.entry.steps[0];
    const auto plan_of = [&](size_t member) {
      return plan_collective(trial.entry, step, trial.c.mesh, trial.c.mesh.coordinates(plan.ranks[member]));
    };
    return node_collective(plan, std::move(site),
                           {largest_bytes(trial.entry, step.outputs[0], trial.c.mesh), plan_of});
  }
  void fill(Trial& trial) { fill_case(trial.c, trial.entry, at(trial), arena(trial)); }
  int64_t wrong(Trial& trial) { return wrong_elements(trial.c, trial.entry, at(trial), arena(trial)); }

 private:
  Coordinates at(const Trial& trial) const { return trial.c.mesh.coordinates(rank_); }
  const Arena& arena(const Trial& trial) const { return trial.arenas[static_cast<size_t>(rank_)]; }

  int64_t rank_;
  Pages& pages_;
  Waiting waiting_;
  std::map<std::vector<int64_t>, std::unique_ptr<NodeGroup>> groups_;
};

// `own_core`: as if every rank had a core of its own; ranks then work together in another way.
template <typename Work>
void on_threads(int64_t devices, bool own_core, const Work& work) {
  const Watchdog watchdog;
  Pages pages;
  std::vector<std::thread> threads;
  for (int64_t rank = 0; rank < devices; ++rank)
    threads.emplace_back([&, rank] {
      Device device(rank, pages, {watchdog, !own_core});
      work(device);
    });
  for (std::thread& thread : threads) thread.join();
}

int64_t wrong_in(std::vector<Trial>& trials, int64_t devices, bool own_core, int times) {
  std::atomic<int64_t> wrong = 0;
  on_threads(devices, own_core, [&](Device& device) {
    std::vector<std::unique_ptr<PreparedCollective>> prepared;
    for (Trial& trial : trials) prepared.push_back(device.prepare(trial));
    // Only the collectives keep the threads in step.
    for (int i = 0; i < times; ++i) {
      for (size_t t = 0; t < trials.size(); ++t) {
        device.fill(trials[t]);
        prepared[t]->start();
      }
      for (size_t t = trials.size(); t-- > 0;) prepared[t]->wait();
      for (Trial& trial : trials) wrong += device.wrong(trial);
    }
  });
  return wrong;
}

TEST_CASE("every collective inside a node gives what its definition says") {
  for (const auto& [devices, own_core] : {std::pair{2, false}, {4, false}, {2, true}}) {
    CAPTURE(devices);
    CAPTURE(own_core);
    std::vector<Trial> trials;
    for (const CollectiveCase& c : collective_cases(devices))
      if (!c.is_combined) trials.emplace_back(c);  // of which this sees one that is packed already
    std::vector<std::atomic<int64_t>> wrong(trials.size());
    on_threads(devices, own_core, [&](Device& device) {
      for (size_t t = 0; t < trials.size(); ++t) {
        device.fill(trials[t]);
        const auto collective = device.prepare(trials[t]);
        collective->start();
        collective->wait();
        wrong[t] += device.wrong(trials[t]);
      }
    });
    for (size_t t = 0; t < trials.size(); ++t) {
      CAPTURE(trials[t].c.name);
      CHECK(wrong[t] == 0);
    }
  }
}

// Operands of `floats` elements for all kinds but the exchange, with a separate buffer for the result and in place.
std::vector<Trial> trials_of(int64_t floats, int64_t devices) {
  const Sharding whole = replicated(2), rows{{{0}, {}}, {}}, columns{{{}, {0}}, {}};
  Sharding sum = whole;
  sum.partial = {{0, ReduceKind::kSum}};
  const TensorType type{DType::kF32, {{"a", floats / 3}, {"b", 3}}};
  std::vector<Trial> trials;
  const auto add = [&](CollectiveKind kind, const Sharding& from, const Sharding& to) {
    for (const bool in_place : {false, true})
      trials.emplace_back(CollectiveCase{
          "", Mesh({{"p", devices}}), kind, {0}, type, from, type, to, ReduceKind::kSum, in_place});
  };
  add(CollectiveKind::kAllReduce, sum, whole);
  add(CollectiveKind::kReduceScatter, sum, rows);
  add(CollectiveKind::kReduceScatter, sum, columns);
  add(CollectiveKind::kAllGather, rows, whole);
  add(CollectiveKind::kAllGather, columns, whole);
  add(CollectiveKind::kAllToAll, rows, columns);
  return trials;
}

TEST_CASE("collectives inside a node follow each other, and are under way together") {
  for (const int64_t devices : {2, 5})
    for (const int64_t floats : {int64_t{30}, int64_t{3000}, 3 * kMailboxBytes / 4}) {
      CAPTURE(devices);
      CAPTURE(floats);
      std::vector<Trial> trials = trials_of(floats, devices);
      CHECK(wrong_in(trials, devices, false, 5) == 0);
      if (devices == 2) CHECK(wrong_in(trials, devices, true, 5) == 0);
    }
}

TEST_CASE("collectives of bulk inside a node go past the cache") {
  // An all_gather of rows in which each member's part is slightly larger than kBulkBytes.
  std::vector<Trial> trials = trials_of(2 * kBulkBytes / 4 + 12, 2);
  std::erase_if(trials, [](const Trial& trial) {
    return trial.c.kind != CollectiveKind::kAllGather || trial.c.from_sharding.dims[0].empty();
  });
  CHECK(wrong_in(trials, 2, true, 2) == 0);
}

TEST_CASE("members that share cores do parts for each other in all collectives but the largest") {
  // In the larger all_to_all only one member gets more than kSharedBytes, and both must do the same.
  for (const int64_t bytes : {kBulkBytes + 48, 2 * kSharedBytes + 48}) {
    std::vector<Trial> trials = trials_of(bytes / 4, 2);
    CHECK(wrong_in(trials, 2, false, 2) == 0);
  }
}

TEST_CASE("an exchange of many short runs is not shared") {
  const TensorType type{DType::kF32, {{"a", 20000}, {"b", 4}}};
  std::vector<Trial> trials;
  trials.emplace_back(CollectiveCase{"",
                                     Mesh({{"p", 2}}),
                                     CollectiveKind::kAllToAll,
                                     {0},
                                     type,
                                     {{{0}, {}}, {}},
                                     type,
                                     {{{}, {0}}, {}},
                                     ReduceKind::kSum,
                                     false});
  CHECK(wrong_in(trials, 2, false, 2) == 0);
}

// Small all_reduces go through mailboxes, and there are fewer of those than collectives here.
TEST_CASE("more small all_reduces than mailboxes") {
  std::vector<Trial> trials;
  for (int i = 0; i < 3; ++i)
    for (Trial& trial : trials_of(30, 3))
      if (trial.c.kind == CollectiveKind::kAllReduce) trials.emplace_back(trial.c);
  CHECK(wrong_in(trials, 3, false, 30) == 0);
}

}  // namespace
}  // namespace mtfc::node_collectives_test
