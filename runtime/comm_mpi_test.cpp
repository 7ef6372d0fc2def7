#include "runtime/comm_mpi.h"

#include <doctest/doctest.h>

#include <map>

#include "core/error.h"
#include "runtime/collective_cases.h"
#include "scripts/mpi_test_main.h"

namespace mtfc {
namespace {

// `shared`: the ranks of a node share memory.
void try_all_cases(NodeMemory& node, bool shared) {
  Processes& processes = test_processes();
  std::map<std::string, std::unique_ptr<MpiComm>> comms;
  for (const CollectiveCase& c : collective_cases(processes.size())) {
    CAPTURE(c.name);
    std::unique_ptr<MpiComm>& comm = comms[to_string(c.mesh)];
    if (!comm) comm = std::make_unique<MpiComm>(c.mesh, processes, node);
    const EntryPoint entry = entry_of(c);
    std::vector<Arena> arenas;
    if (shared)
      arenas = comm->make_arenas(entry.arena_bytes);
    else
      arenas.emplace_back(entry.arena_bytes);
    REQUIRE(node.starts_of(arenas[0]).empty() == !(shared && processes.size() > 1));
    fill_case(c, entry, comm->devices()[0], arenas[0]);
    const auto collectives = comm->prepare(entry, arenas);
    for (int run = 0; run < (c.in_place ? 1 : 2); ++run) {
      collectives->start(0);
      collectives->progress();
      collectives->wait(0);
    }
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
  try_all_cases(test_node(2), true);
  try_all_cases(test_node(3), true);  // one node has three ranks, and the other one
}

TEST_CASE("a mesh of another size than the number of ranks is refused") {
  Processes& processes = test_processes();
  CHECK_THROWS_AS(MpiComm(Mesh({{"p", processes.size() + 1}}), processes, test_node()), RunError);
}

}  // namespace
}  // namespace mtfc
