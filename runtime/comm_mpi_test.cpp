#include "runtime/comm_mpi.h"

#include <doctest/doctest.h>

#include <map>

#include "core/error.h"
#include "runtime/collective_cases.h"
#include "scripts/mpi_test_main.h"

namespace mtfc {
namespace {

TEST_CASE("every collective gives under MPI what its definition says") {
  Processes& processes = test_processes();
  std::map<std::string, std::unique_ptr<MpiComm>> comms;
  for (const CollectiveCase& c : collective_cases(processes.size())) {
    CAPTURE(c.name);
    std::unique_ptr<MpiComm>& comm = comms[to_string(c.mesh)];
    if (!comm) comm = std::make_unique<MpiComm>(c.mesh, processes);
    const EntryPoint entry = entry_of(c);
    std::vector<Arena> arenas;
    arenas.emplace_back(entry.arena_bytes);
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

TEST_CASE("a mesh of another size than the number of ranks is refused") {
  Processes& processes = test_processes();
  CHECK_THROWS_AS(MpiComm(Mesh({{"p", processes.size() + 1}}), processes), RunError);
}

}  // namespace
}  // namespace mtfc
