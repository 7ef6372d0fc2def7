// Median latency of an all_reduce through Comm, beside MPI's own blocking call, for a few sizes:
//   mpiexec.mpich -n 8 all_reduce_bench

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "runtime/collective_cases.h"
#include "runtime/comm_mpi.h"

namespace {

using namespace mtfc;

template <typename Run>
double median_microseconds(int times, const Run& run) {
  std::vector<double> samples;
  for (int i = 0; i < times; ++i) {
    const auto start = std::chrono::steady_clock::now();
    run();
    samples.push_back(
        std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count());
  }
  std::nth_element(samples.begin(), samples.begin() + times / 2, samples.end());
  return samples[static_cast<size_t>(times / 2)];
}

CollectiveCase all_reduce_of(int64_t floats, int64_t devices) {
  const TensorType type{DType::kF32, {{"a", floats}}};
  Sharding sum = replicated(1);
  sum.partial = {{0, ReduceKind::kSum}};
  return {"", Mesh({{"p", devices}}), CollectiveKind::kAllReduce, {0}, type, sum, type, replicated(1)};
}

void measure(int64_t floats, Processes& processes) {
  const CollectiveCase c = all_reduce_of(floats, processes.size());
  MpiComm comm(c.mesh, processes);
  const EntryPoint entry = entry_of(c);
  std::vector<Arena> arenas;
  arenas.emplace_back(entry.arena_bytes);
  fill_case(c, entry, comm.devices()[0], arenas[0]);
  const auto collectives = comm.prepare(entry, arenas);
  const double ours = median_microseconds(1001, [&] {
    collectives->start(0);
    collectives->wait(0);
  });
  std::vector<float> in(static_cast<size_t>(floats)), out(in);
  const double blocking = median_microseconds(101, [&] {
    MPI_Allreduce(in.data(), out.data(), static_cast<int>(floats), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  });
  if (processes.speaks())
    fmt::print("{:>9} bytes, {} ranks on {} cores: {:8.1f} us through Comm, {:8.1f} us blocking\n",
               floats * 4, processes.size(), processes.cores_on_node(), ours, blocking);
}

}  // namespace

int main() {
  Processes processes = Processes::start();
  for (const int64_t floats : {256, 16384, 1048576}) measure(floats, processes);
}
