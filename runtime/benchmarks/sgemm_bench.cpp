// The rate of f32 matrix products of n = 2048 as the runtime calls them; with several ranks, that of all at
// once:
//   sgemm_bench [THREADS]
//   mpiexec.mpich -n 2 sgemm_bench 1
// Prints one JSON object: ranks, threads, flops per second over all ranks.

#include <fmt/format.h>

#include <cstdlib>

#include "runtime/benchmarks/bench_runs.h"
#include "runtime/compute/blas.h"
#include "runtime/compute/threads.h"
#include "runtime/processes/processes.h"

int main(int count, char** arguments) {
  using namespace mtfc;
  constexpr int64_t kSize = 2048;
  Watchdog watchdog;
  Processes processes = Processes::start(watchdog);
  const int threads = count > 1 ? std::atoi(arguments[1]) : 1;
  set_threads(threads);
  std::vector<float> a(kSize * kSize, 0.5F), b(kSize * kSize, 0.25F), c(kSize * kSize);
  const MatrixProduct product{kSize, kSize, kSize, false, false, kSize, kSize, kSize};
  const auto multiply_once = [&] {
    processes.barrier();
    multiply(product, a.data(), b.data(), c.data());
  };
  const auto nanoseconds = static_cast<int64_t>(alternating_medians(9, {multiply_once})[0] * 1e9);
  const double slowest = static_cast<double>(processes.maximum(nanoseconds)) * 1e-9;
  if (processes.is_root())
    fmt::print("{{\"ranks\": {}, \"threads\": {}, \"flops_per_second\": {:.4e}}}\n", processes.size(),
               threads, 2.0 * kSize * kSize * kSize * processes.size() / slowest);
}
