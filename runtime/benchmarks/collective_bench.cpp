// Compares collectives through Comm with MPI's own blocking calls for 1 KB to 64 MB, alternating in one set
// of processes: medians, and how many times as fast ours are. On every rank the buffers have the given size;
// an all_gather's result and a reduce_scatter's operand fill them.
//   mpiexec.mpich -n 2 build/collective_bench [KIND...]

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <set>
#include <string>
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

// MPI's blocking call of the same kind, on memory of its own.
class Blocking {
 public:
  Blocking(const Rows& row, int64_t floats, const Processes& processes)
      : row_(row),
        rank_(processes.rank()),
        count_(floats),
        share_(floats / processes.size()),
        in_(size_t(floats)),
        out_(size_t(floats)) {}

  void run() {
    void* in = row_.in_place ? MPI_IN_PLACE : in_.data();
    float* out = out_.data();
    switch (row_.kind) {
      case CollectiveKind::kAllReduce:
        return check_mpi(MPI_Allreduce_c(in, out, count_, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD), "MPI");
      case CollectiveKind::kReduceScatter:
        return check_mpi(MPI_Reduce_scatter_block_c(in, out, share_, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD),
                         "MPI");
      case CollectiveKind::kAllGather:
        // In ours, the part begins at the front.
        if (row_.in_place)
          std::memmove(out + rank_ * share_, out, static_cast<size_t>(share_) * sizeof(float));
        return check_mpi(MPI_Allgather_c(in, share_, MPI_FLOAT, out, share_, MPI_FLOAT, MPI_COMM_WORLD),
                         "MPI");
      default:
        return check_mpi(MPI_Alltoall_c(in, share_, MPI_FLOAT, out, share_, MPI_FLOAT, MPI_COMM_WORLD),
                         "MPI");
    }
  }

 private:
  Rows row_;
  int64_t rank_, count_, share_;
  std::vector<float> in_, out_;
};

template <typename Run>
double microseconds(Processes& processes, const Run& run) {
  processes.barrier();  // MPI's own barrier would let ranks that share a core continue a time slice apart
  const auto start = std::chrono::steady_clock::now();
  run();
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> samples) {
  std::nth_element(samples.begin(), samples.begin() + samples.size() / 2, samples.end());
  return samples[samples.size() / 2];
}

void measure(const Rows& row, int64_t floats, Processes& processes, NodeMemory& node) {
  const CollectiveCase c = case_of(row, floats, processes.size());
  MpiComm comm(c.mesh, processes, node);
  const EntryPoint entry = collective_entry(c);
  const std::vector<Arena> arenas = comm.make_arenas(entry.arena_bytes);
  std::memset(arenas[0].at(0), 0, static_cast<size_t>(entry.arena_bytes));
  const auto collectives = comm.prepare(entry, arenas);
  Blocking blocking(row, floats, processes);
  // If a single run is as short as reading the clock, several in a row make one sample.
  const bool crowded = processes.oversubscribed();
  const int repeats = crowded ? 20 : std::clamp<int>(static_cast<int>((1 << 18) / floats), 1, 100);
  const int their_repeats = crowded ? 1 : repeats;  // time slices
  const int samples = floats <= (1 << 18) ? (crowded ? 7 : 101) : 11;
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
                                    for (int k = 0; k < their_repeats; ++k) blocking.run();
                                  }) /
                     their_repeats);
  }
  if (processes.speaks())
    fmt::print("{:<24} {:>9} bytes: {:10.1f} us, MPI {:10.1f} us, {:6.1f} x\n", row.name, floats * 4,
               median(ours), median(theirs), median(theirs) / median(ours));
}

}  // namespace

int main(int argc, char** argv) {
  Watchdog watchdog;
  Processes processes = Processes::start(watchdog);
  NodeMemory node(processes);
  const std::set<std::string> wanted(argv + 1, argv + argc);
  if (processes.speaks()) fmt::print("{} ranks on {} cores\n", processes.size(), processes.cores_on_node());
  for (const Rows& row : rows())
    for (const int64_t floats : {int64_t{1} << 8, int64_t{1} << 14, int64_t{1} << 18, int64_t{1} << 20,
                                 int64_t{1} << 22, int64_t{1} << 24}) {
      if (!wanted.empty() && wanted.count(row.name) == 0) continue;
      if (processes.oversubscribed() && floats > (1 << 20)) continue;
      measure(row, floats, processes, node);
    }
}
