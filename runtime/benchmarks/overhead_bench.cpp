// The overhead of the executor per kernel: steps of 1,000 tiny kernels on tensors of four elements.
//   overhead_bench
// Prints one JSON object per line: case, kernels in the program, seconds of a step and per kernel. In a chain
// of sums along a dimension no two kernels can be fused; in the mixed chain every second one is an addition.

#include <fmt/format.h>

#include "core/graph/op_registry.h"
#include "runtime/benchmarks/bench_runs.h"
#include "runtime/compute/threads.h"

namespace {

using namespace mtfc;

constexpr int kKernels = 1000;
const Dim kDim = {"a", 4};

Model chain(const std::string& name, bool mixed) {
  GraphBuilder b;
  Model model;
  const TensorType type{DType::kF32, {kDim}};
  const TensorId x = b.add_input("x", type), other = b.add_input("other", type);
  TensorId last = x;
  for (int i = 0; i < kKernels; ++i)
    last = mixed && i % 2 == 0 ? b.op("add", {last, other}) : b.op("cumsum", {last}, {{"dim", kDim}});
  b.name(last, "y");
  model.name = name;
  model.dims = {kDim};
  model.inputs = {{"x", type, "", {}}, {"other", type, "", {}}};
  model.outputs = {{"y", last}};
  model.graph = std::move(b).build();
  return model;
}

}  // namespace

int main() {
  set_threads(1);
  BenchRun sums(chain("cumsum", false)), mixed(chain("add and cumsum", true));
  // Starting from ones, the second element grows by one per kernel: proof that all were executed.
  for (int64_t i = 0; i < kDim.size; ++i) reinterpret_cast<float*>(sums.leaves()[0].data)[i] = 1;
  sums.step();
  check_invariant(reinterpret_cast<const float*>(sums.output(0).data)[1] == kKernels + 1,
                  "sums went missing");
  const std::vector<double> seconds = alternating_medians(501, {[&] { sums.step(); }, [&] { mixed.step(); }});
  size_t at = 0;
  for (const auto& [name, run] : {std::pair{"cumsum", &sums}, std::pair{"add and cumsum", &mixed}}) {
    const size_t kernels = run->entry().steps.size();
    fmt::print("{{\"case\": \"{}\", \"kernels\": {}, \"seconds\": {:.9f}, \"seconds_per_kernel\": {:.3e}}}\n",
               name, kernels, seconds[at], seconds[at] / static_cast<double>(kernels));
    ++at;
  }
}
