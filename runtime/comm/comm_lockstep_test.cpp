#include "runtime/comm/comm_lockstep.h"

#include <doctest/doctest.h>

#include <set>

#include "runtime/testing/collective_cases.h"

namespace mtfc::comm_lockstep_test {
namespace {

int64_t wrong_in_lockstep(const CollectiveCase& c) {
  Processes processes = Processes::alone();
  LockstepComm comm(c.mesh, processes);
  const EntryPoint entry = collective_entry(c);
  std::vector<Arena> arenas;
  for (size_t i = 0; i < comm.devices().size(); ++i) {
    arenas.emplace_back(entry.arena_bytes);
    fill_case(c, entry, comm.devices()[i], arenas[i]);
  }
  const auto collectives = comm.prepare(entry, arenas);
  collectives->start(0);
  collectives->wait(0);
  CHECK(moved_as_predicted(c, entry, comm.devices(), collectives->count(0), 1));
  int64_t wrong = 0;
  for (size_t i = 0; i < arenas.size(); ++i) wrong += wrong_elements(c, entry, comm.devices()[i], arenas[i]);
  return wrong;
}

TEST_CASE("every collective gives what its definition says") {
  for (const int64_t devices : {1, 2, 3, 4, 6})
    for (const CollectiveCase& c : collective_cases(devices)) {
      CAPTURE(c.name);
      CHECK(wrong_in_lockstep(c) == 0);
    }
}

TEST_CASE("every kind of collective is among the cases") {
  std::set<CollectiveKind> kinds;
  for (const CollectiveCase& c : collective_cases(4)) kinds.insert(c.kind);
  for (const CollectiveFacts& facts : collective_kinds()) {
    CAPTURE(to_string(facts.kind));
    CHECK(kinds.count(facts.kind) == 1);
  }
}

}  // namespace
}  // namespace mtfc::comm_lockstep_test
