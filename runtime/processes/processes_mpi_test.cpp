#include <doctest/doctest.h>
#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "core/diagnostics/error.h"
#include "runtime/comm/mpi/comm_mpi.h"
#include "runtime/data/array_file.h"
#include "runtime/processes/processes.h"
#include "runtime/testing/elements.h"
#include "scripts/mpi_test_main.h"

namespace mtfc::processes_mpi_test {
namespace {

TEST_CASE("ranks agree on bytes, largest values, sums and successes") {
  Processes& processes = test_processes();
  const int rank = processes.rank(), size = processes.size();
  std::string bytes = processes.is_root() ? std::string(100000, 'x') + '\0' : "other";
  processes.broadcast(bytes);
  CHECK(bytes == std::string(100000, 'x') + '\0');
  CHECK(processes.maximum(rank) == size - 1);
  std::vector<int64_t> values{rank, -rank};
  processes.maximum(values);
  CHECK(values == std::vector<int64_t>{size - 1, 0});
  values = {rank, 1};
  processes.sum(values);
  CHECK(values == std::vector<int64_t>{size * (size - 1) / 2, size});
  const std::vector<std::string> all = processes.gather(std::string(static_cast<size_t>(rank), 'a'));
  REQUIRE(all.size() == static_cast<size_t>(processes.is_root() ? size : 0));
  for (size_t i = 0; i < all.size(); ++i) CHECK(all[i].size() == i);
  CHECK(processes.ranks_on_node() == size);
  processes.barrier();
}

TEST_CASE("ranks that differ or fail are named on every rank") {
  Processes& processes = test_processes();
  const int rank = processes.rank(), size = processes.size();
  CHECK_NOTHROW(processes.require_equal("program", "same"));
  CHECK_NOTHROW(processes.require_success(""));
  if (size == 1) return;
  const std::string last = std::to_string(size - 1);
  const std::string message = "rank " + last + " has another program than rank 0";
  CHECK_THROWS_WITH_AS(processes.require_equal("program", rank == size - 1 ? "b" : "a"), message.c_str(),
                       RunError);
  const std::string failure = "rank " + last + ": disk full";
  CHECK_THROWS_WITH_AS(processes.require_success(rank == size - 1 ? "disk full" : ""), failure.c_str(),
                       RunError);
}

TEST_CASE("one rank has the last word") {
  Processes& processes = test_processes();
  std::vector<int64_t> speakers{processes.watchdog()->claim_last_word() ? 1 : 0};
  processes.sum(speakers);
  CHECK(speakers[0] == 1);
}

TEST_CASE("ranks that share cores evenly stay on one, the same number on each, neighbours together") {
  Processes& processes = test_processes();
  cpu_set_t before, after;
  REQUIRE(sched_getaffinity(0, sizeof before, &before) == 0);
  processes.keep_to_share(1);
  REQUIRE(sched_getaffinity(0, sizeof after, &after) == 0);
  sched_setaffinity(0, sizeof before, &before);
  const int size = processes.size(), cores = processes.cores_on_node();
  if (size <= cores || size % cores != 0) {
    CHECK((CPU_EQUAL(&before, &after) || HostCores(before).memories() > 1));
    CHECK(!std::getenv("MTFC_SHARED_CORES"));  // which CTest sets where it has seen to it that they do
    return;
  }
  REQUIRE(CPU_COUNT(&after) >= 1);
  int core = 0;
  while (!CPU_ISSET(core, &after)) ++core;
  std::vector<int64_t> core_of(static_cast<size_t>(size), 0);
  core_of[static_cast<size_t>(processes.rank())] = core;
  processes.sum(core_of);
  CHECK(std::is_sorted(core_of.begin(), core_of.end()));
  CHECK(std::count(core_of.begin(), core_of.end(), core) == size / cores);
}

TEST_CASE("ranks write one file together") {
  Processes& processes = test_processes();
  MpiComm comm(Mesh({{"p", processes.size()}}), processes, test_node());
  std::string path = (std::filesystem::temp_directory_path() / "mtfc_ranks_XXXXXX").string();
  if (processes.is_root()) path = mkdtemp(path.data());
  processes.broadcast(path);
  const TensorType type{DType::kF64, {{"a", 3}, {"b", 5}}};
  const Sharding sharding{{{}, {0}}, {}};
  const Box box = local_box(type.dims, sharding, comm.mesh(), comm.devices()[0]);
  std::vector<double> data;
  for (const int64_t index : global_indices(type.dims, box)) data.push_back(static_cast<double>(index));
  write_array(comm, path + "/t", "header", sharding,
              {{type, box, reinterpret_cast<std::byte*>(data.data())}});
  std::ifstream file(path + "/t", std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  std::string expected = "header";
  for (int i = 0; i < 15; ++i) {
    const double value = i;
    expected.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  CHECK(bytes == expected);
  CHECK_THROWS_AS(write_array(comm, path + "/none/t", "header", sharding, {{type, box, nullptr}}), RunError);
  processes.barrier();
  if (processes.is_root()) std::filesystem::remove_all(path);
}

}  // namespace
}  // namespace mtfc::processes_mpi_test
