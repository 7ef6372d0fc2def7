#include "runtime/comm/mpi/comm_mpi.h"

#include <doctest/doctest.h>

#include <map>

#include "core/diagnostics/error.h"
#include "runtime/testing/collective_cases.h"
#include "scripts/mpi_test_main.h"

namespace mtfc::comm_mpi_test {
namespace {

// `shared`: true if the ranks of a node share memory.
// `levels`: of nodes and their ranks, each of which rounds bf16.
void try_all_cases(NodeMemory& node, bool shared, int levels = 1) {
  Processes& processes = test_processes();
  std::map<std::string, std::unique_ptr<MpiComm>> comms;
  for (CollectiveCase c : collective_cases(processes.size())) {
    c.rounds_once = levels == 1;
    CAPTURE(c.name);
    std::unique_ptr<MpiComm>& comm = comms[to_string(c.mesh)];
    if (!comm) comm = std::make_unique<MpiComm>(c.mesh, processes, node);
    const EntryPoint entry = collective_entry(c);
    std::vector<Arena> arenas;
    if (shared)
      arenas = comm->make_arenas(entry.arena_bytes);
    else
      arenas.emplace_back(entry.arena_bytes);
    REQUIRE(node.starts_of(arenas[0]).empty() == !(shared && processes.size() > 1));
    fill_case(c, entry, comm->devices()[0], arenas[0]);
    const auto collectives = comm->prepare(entry, arenas);
    const int rounds = c.in_place ? 1 : 2;
    for (int run = 0; run < rounds; ++run) {
      collectives->start(0);
      collectives->progress();
      collectives->wait(0);
    }
    CHECK(moved_as_predicted(c, entry, comm->devices(), collectives->count(0), rounds));
    CHECK(wrong_elements(c, entry, comm->devices()[0], arenas[0]) == 0);
  }
}

TEST_CASE("every collective gives by messages what its definition says") {
  try_all_cases(test_node(), false);
}

TEST_CASE("every collective gives inside a node what its definition says") {
  try_all_cases(test_node(), true);
}

TEST_CASE("every collective gives between and inside nodes what its definition says") {
  if (test_processes().size() < 4) return;
  try_all_cases(test_node(2), true, 2);
  try_all_cases(test_node(3), true, 2);  // one node has three ranks, and the other has one
}

// Small all_reduces of `count` elements, all under way together and awaited in another order.
EntryPoint together(const CollectiveCase& c, int64_t count) {
  const EntryPoint one = collective_entry(c);
  EntryPoint entry = one;
  entry.values.clear();
  entry.buffers.clear();
  entry.steps.clear();
  for (int64_t k = 0; k < count; ++k) {
    const ValueId x = entry.values.add({"x", c.from, c.from_sharding, BufferId(2 * k)});
    const ValueId y = entry.values.add({"y", c.to, c.to_sharding, BufferId(2 * k + 1)});
    for (size_t b = 0; b < 2; ++b) {
      entry.buffers.push_back(one.buffers[b]);
      entry.buffers.back().offset += k * one.arena_bytes;
    }
    entry.steps.push_back(one.steps[0]);
    entry.steps.back().inputs = {x};
    entry.steps.back().outputs = {y};
    entry.steps.back().workspace = kNoBuffer;
  }
  for (int64_t k = count; k-- > 0;) {
    entry.steps.push_back(one.steps[1]);
    entry.steps.back().as<AwaitCollective>()->start = StepIndex(k);
  }
  entry.arena_bytes *= count;
  return entry;
}

TEST_CASE("small all_reduces that are under way together may be awaited in another order") {
  Processes& processes = test_processes();
  for (const int64_t floats : {1, 1000, 4000}) {
    const TensorType type{DType::kF32, {{"a", floats}, {"b", 1}}};
    Sharding sum = replicated(2);
    sum.partial = {{0, ReduceKind::kSum}};
    const CollectiveCase c{
        "", Mesh({{"p", processes.size()}}), CollectiveKind::kAllReduce, {0}, type, sum, type, replicated(2)};
    MpiComm comm(c.mesh, processes, test_node());
    const int64_t count = 6;
    const EntryPoint entry = together(c, count);
    std::vector<Arena> arenas;
    arenas.emplace_back(entry.arena_bytes);
    const auto at = [&](int64_t k, bool output, int64_t i) -> float& {
      const Buffer& buffer = entry.buffers[2 * k + output];
      return reinterpret_cast<float*>(arenas[0].at(buffer.offset))[i];
    };
    for (int64_t k = 0; k < count; ++k)
      for (int64_t i = 0; i < floats; ++i)
        at(k, false, i) = static_cast<float>(k * 1000 + i % 7 + processes.rank());
    const auto collectives = comm.prepare(entry, arenas);
    for (int run = 0; run < 2; ++run) {
      for (size_t k = 0; k < static_cast<size_t>(count); ++k) collectives->start(k);
      collectives->progress();
      for (size_t k = static_cast<size_t>(count); k-- > 0;) collectives->wait(k);
      const auto ranks = static_cast<int64_t>(processes.size());
      const int64_t pairs = ranks * (ranks - 1) / 2;
      int64_t wrong = 0;
      for (int64_t k = 0; k < count; ++k)
        for (int64_t i = 0; i < floats; ++i)
          wrong += at(k, true, i) != static_cast<float>(ranks * (k * 1000 + i % 7) + pairs);
      CHECK(wrong == 0);
    }
  }
}

// Each share of these is larger than what may be under way at once.
TEST_CASE("large all_reduces between nodes go in chunks, while others are under way") {
  Processes& processes = test_processes();
  if (processes.size() < 4) return;
  const int64_t floats = 3'000'001, count = 2;
  const TensorType type{DType::kF32, {{"a", floats}, {"b", 1}}};
  Sharding sum = replicated(2);
  sum.partial = {{0, ReduceKind::kSum}};
  const CollectiveCase c{
      "", Mesh({{"p", processes.size()}}), CollectiveKind::kAllReduce, {0}, type, sum, type, replicated(2)};
  MpiComm comm(c.mesh, processes, test_node(2));
  const EntryPoint entry = together(c, count);
  const std::vector<Arena> arenas = comm.make_arenas(entry.arena_bytes);
  const auto at = [&](int64_t k, bool output) {
    return reinterpret_cast<float*>(arenas[0].at(entry.buffers[2 * k + output].offset));
  };
  for (int64_t k = 0; k < count; ++k)
    for (int64_t i = 0; i < floats; ++i)
      at(k, false)[i] = static_cast<float>(k * 1000 + i % 7 + processes.rank());
  const auto collectives = comm.prepare(entry, arenas);
  for (int run = 0; run < 2; ++run) {
    for (size_t k = 0; k < static_cast<size_t>(count); ++k) collectives->start(k);
    for (int i = 0; i < 3 * processes.rank(); ++i) collectives->progress();
    for (size_t k = static_cast<size_t>(count); k-- > 0;) collectives->wait(k);
    const auto ranks = static_cast<int64_t>(processes.size());
    int64_t wrong = 0;
    for (int64_t k = 0; k < count; ++k)
      for (int64_t i = 0; i < floats; ++i)
        wrong += at(k, true)[i] != static_cast<float>(ranks * (k * 1000 + i % 7) + ranks * (ranks - 1) / 2);
    CHECK(wrong == 0);
  }
}

TEST_CASE("a mesh of another size than the number of ranks is refused") {
  Processes& processes = test_processes();
  CHECK_THROWS_AS(MpiComm(Mesh({{"p", processes.size() + 1}}), processes, test_node()), RunError);
}

}  // namespace
}  // namespace mtfc::comm_mpi_test
