// Compares collectives through Comm with MPI's own calls for 1 KB to 64 MB, alternating in one set of processes:
// medians, and how many times as fast ours are. On every rank the buffers have the given size; an all_gather's result
// and a reduce_scatter's operand fill them. MPI's calls are the blocking ones, or with --yielding the non-blocking
// ones, tested and yielding in between as ours, for ranks that share cores.
//   mpiexec.mpich -n 2 build/collective_bench [--yielding] [KIND...]
//   scripts/hosts.sh --cores --link 1gbit 2 build/collective_bench --yielding

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "runtime/comm/mpi/comm_mpi.h"
#include "runtime/processes/mpi_calls.h"
#include "runtime/testing/collective_cases.h"

namespace {

using namespace mtfc;

struct Rows {
  std::string name;
  CollectiveKind kind;
  Sharding from, to;
  bool in_place;
};

std::vector<Rows> rows() {
  const Sharding whole = replicated(2), split{{{0}, {}}, {}}, across{{{}, {0}}, {}};
  Sharding sum = whole;
  sum.partial = {{0, ReduceKind::kSum}};
  return {{"all_reduce in place", CollectiveKind::kAllReduce, sum, whole, true},
          {"all_reduce", CollectiveKind::kAllReduce, sum, whole, false},
          {"reduce_scatter", CollectiveKind::kReduceScatter, sum, split, false},
          {"reduce_scatter in place", CollectiveKind::kReduceScatter, sum, split, true},
          {"all_gather", CollectiveKind::kAllGather, split, whole, false},
          {"all_gather in place", CollectiveKind::kAllGather, split, whole, true},
          {"all_to_all", CollectiveKind::kAllToAll, split, across, false},
          {"all_to_all in place", CollectiveKind::kAllToAll, split, across, true}};
}

// A matrix with a column of blocks for each device, so that every part is contiguous for MPI.
CollectiveCase case_of(const Rows& row, int64_t floats, int64_t devices) {
  const int64_t height = row.kind == CollectiveKind::kAllToAll ? devices : floats;
  const int64_t width = row.kind == CollectiveKind::kAllToAll ? floats : 1;
  const TensorType type{DType::kF32, {{"a", height}, {"b", width}}};
  return {"",     Mesh({{"p", devices}}), row.kind,    {0}, type, row.from, type,
          row.to, ReduceKind::kSum,       row.in_place};
}

// MPI's call of the same kind, on memory of its own.
class Theirs {
 public:
  Theirs(const Rows& row, int64_t floats, const Processes& processes, bool yielding)
      : row_(row),
        rank_(processes.rank()),
        count_(floats),
        share_(floats / processes.size()),
        yielding_(yielding),
        waiting_(processes.waiting()),
        in_(size_t(floats)),
        out_(size_t(floats)) {}

  void run() {
    // In ours, the part of an all_gather begins at the front.
    if (row_.kind == CollectiveKind::kAllGather && row_.in_place)
      std::memmove(out_.data() + rank_ * share_, out_.data(), static_cast<size_t>(share_) * sizeof(float));
    if (!yielding_) return check_mpi(block(), "MPI");
    MPI_Request request;
    check_mpi(start(&request), "MPI");
    wait_for(request, waiting_);
  }

 private:
  void* operand() { return row_.in_place ? MPI_IN_PLACE : in_.data(); }

  int block() {
    float* const out = out_.data();
    switch (row_.kind) {
      case CollectiveKind::kAllReduce:
        return MPI_Allreduce_c(operand(), out, count_, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
      case CollectiveKind::kReduceScatter:
        return MPI_Reduce_scatter_block_c(operand(), out, share_, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
      case CollectiveKind::kAllGather:
        return MPI_Allgather_c(operand(), share_, MPI_FLOAT, out, share_, MPI_FLOAT, MPI_COMM_WORLD);
      default:
        return MPI_Alltoall_c(operand(), share_, MPI_FLOAT, out, share_, MPI_FLOAT, MPI_COMM_WORLD);
    }
  }

  int start(MPI_Request* request) {
    float* const out = out_.data();
    switch (row_.kind) {
      case CollectiveKind::kAllReduce:
        return MPI_Iallreduce_c(operand(), out, count_, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, request);
      case CollectiveKind::kReduceScatter:
        return MPI_Ireduce_scatter_block_c(operand(), out, share_, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD,
                                           request);
      case CollectiveKind::kAllGather:
        return MPI_Iallgather_c(operand(), share_, MPI_FLOAT, out, share_, MPI_FLOAT, MPI_COMM_WORLD,
                                request);
      default:
        return MPI_Ialltoall_c(operand(), share_, MPI_FLOAT, out, share_, MPI_FLOAT, MPI_COMM_WORLD, request);
    }
  }

  Rows row_;
  int64_t rank_, count_, share_;
  bool yielding_;
  Waiting waiting_;
  std::vector<float> in_, out_;
};

// Until the last rank is done.
template <typename Run>
double microseconds(Processes& processes, const Run& run) {
  // A limited link lets some bytes pass at once after a pause, so each run begins after one.
  if (processes.nodes().back() != 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  processes.barrier();  // MPI's own barrier would let ranks that share a core continue a time slice apart
  const auto start = std::chrono::steady_clock::now();
  run();
  const auto end = std::chrono::steady_clock::now();
  const int64_t taken = std::chrono::duration_cast<std::chrono::nanoseconds>(end - start).count();
  return static_cast<double>(processes.maximum(taken)) / 1e3;
}

double median(std::vector<double> samples) {
  std::nth_element(samples.begin(), samples.begin() + samples.size() / 2, samples.end());
  return samples[samples.size() / 2];
}

void measure(const Rows& row, int64_t floats, Processes& processes, NodeMemory& node, bool yielding) {
  const CollectiveCase c = case_of(row, floats, processes.size());
  MpiComm comm(c.mesh, processes, node);
  const EntryPoint entry = collective_entry(c);
  const std::vector<Arena> arenas = comm.make_arenas(entry.arena_bytes);
  std::memset(arenas[0].at(0), 0, static_cast<size_t>(entry.arena_bytes));
  const auto collectives = comm.prepare(entry, arenas);
  Theirs others(row, floats, processes, yielding);
  // If a single run is as short as reading the clock, several in a row make one sample.
  const bool crowded = processes.oversubscribed();
  const bool small = floats <= (1 << 18);
  const int repeats = crowded && small ? 20 : std::clamp<int>(static_cast<int>((1 << 18) / floats), 1, 100);
  const int their_repeats = crowded && !yielding ? 1 : repeats;  // time slices
  const int samples = small ? (crowded ? 7 : 101) : 11;
  std::vector<double> ours, theirs;
  for (int i = 0; i < samples; ++i) {
    ours.push_back(microseconds(processes,
                                [&] {
                                  for (int k = 0; k < repeats; ++k) {
                                    collectives->start(0);
                                    collectives->wait(0);
                                  }
                                }) /
                   repeats);
    theirs.push_back(microseconds(processes,
                                  [&] {
                                    for (int k = 0; k < their_repeats; ++k) others.run();
                                  }) /
                     their_repeats);
  }
  if (processes.is_root())
    fmt::print("{:<24} {:>9} bytes: {:10.1f} us, MPI {:10.1f} us, {:6.1f} x\n", row.name, floats * 4,
               median(ours), median(theirs), median(theirs) / median(ours));
}

}  // namespace

int main(int argc, char** argv) {
  Watchdog watchdog;
  Processes processes = Processes::start(watchdog);
  NodeMemory node(processes);
  std::set<std::string> wanted(argv + 1, argv + argc);
  const bool yielding = wanted.erase("--yielding") > 0;
  if (processes.is_root()) fmt::print("{} ranks on {} cores\n", processes.size(), processes.cores_on_node());
  for (const Rows& row : rows())
    for (const int64_t floats : {int64_t{1} << 8, int64_t{1} << 12, int64_t{1} << 14, int64_t{1} << 16,
                                 int64_t{1} << 18, int64_t{1} << 21, int64_t{1} << 24}) {
      if (!wanted.empty() && wanted.count(row.name) == 0) continue;
      if (processes.oversubscribed() && !yielding && floats > (1 << 20)) continue;
      measure(row, floats, processes, node, yielding);
    }
}
