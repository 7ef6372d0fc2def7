// Runs flush denormal numbers: every kernel takes them as 0 and gives 0 in their place, on every thread.

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cfenv>
#include <cstdint>
#include <thread>

#include "core/compile/pipeline.h"
#include "runtime/comm/comm_lockstep.h"
#include "runtime/compute/threads.h"
#include "runtime/execute/executor.h"

namespace mtfc::denormals_test {
namespace {

constexpr float kDenormal = 1e-39F, kSmall = 1e-20F;

// `denormal` is added up, and products of the other inputs are denormal.
Model tiny_model() {
  const Dim m{"m", 512}, n{"n", 512}, k{"k", 256}, taps{"taps", 3};
  GraphBuilder b;
  Model model;
  const auto output = [&](const std::string& name, TensorId id) {
    b.name(id, name);
    b.mark_from_model(id);
    model.outputs.push_back({name, id});
  };
  const auto input = [&](const std::string& name, const Dims& dims) {
    const TensorId id = b.add_input(name, {DType::kF32, dims});
    model.inputs.push_back({name, {DType::kF32, dims}, "", {}});
    model.dims = unite(model.dims, dims);
    return id;
  };
  const TensorId denormal = input("denormal", {m, k}), x = input("x", {m, k}), w = input("w", {k, n}),
                 filter = input("filter", {taps, k, n});
  output("sum", b.op("add", {denormal, denormal}));
  output("total", b.op("reduce_sum", {denormal}));
  output("product", b.op("einsum", {x, w}, {{"dims", Dims{m, n}}}));
  const TensorId scaled = b.op("mul", {x, b.constant(1.5, DType::kF32)});
  output("fused", b.op("reduce_sum", {b.op("square", {b.op("sub", {scaled, x})})}, {{"over", Dims{k}}}));
  const Window window{.dim = m, .taps = taps, .to = m, .low = 1, .high = 1};
  output("conv", b.op("conv", {x, filter}, {{"dims", Dims{m, n}}, {"windows", Windows{window}}}));
  model.graph = std::move(b).build();
  return model;
}

// A thread that flushes can't see denormal numbers by comparing them.
bool is_zero(float number) {
  return std::bit_cast<uint32_t>(number) << 1 == 0;
}

// For each output of a run, how many elements are not 0.
std::vector<int64_t> elements_left(const Layout& layout) {
  const Program program = compile(tiny_model(), layout, {});
  const EntryPoint& entry = *program.find("evaluate");
  Processes processes = Processes::alone();
  LockstepComm comm(program.mesh(), processes);
  Executor executor(program, comm);
  executor.load(entry);
  for (int64_t device = 0; device < program.mesh().devices(); ++device)
    for (const Binding& input : entry.inputs) {
      const LocalShard shard = executor.shard(entry, input.value, device);
      std::fill_n(reinterpret_cast<float*>(shard.data), shard.elements(),
                  input.name == "denormal" ? kDenormal : kSmall);
    }
  executor.run(entry, 0);
  std::vector<int64_t> left;
  for (const Binding& output : entry.outputs) {
    const LocalShard shard = executor.shard(entry, output.value, 0);
    const float* const data = reinterpret_cast<const float*>(shard.data);
    left.push_back(shard.elements() - std::count_if(data, data + shard.elements(), is_zero));
  }
  return left;
}

float doubled(float number) {
  const volatile float operand = number;  // so that the sum is taken at run time
  return operand + operand;
}

}  // namespace

TEST_CASE("runs take denormal numbers as 0 on every thread") {
  fenv_t before;
  REQUIRE(fegetenv(&before) == 0);
  set_threads(2);  // starts a pool ...
#pragma omp parallel
  fesetenv(FE_DFL_ENV);  // ... whose threads compute with denormal numbers
  const Layout whole, split{Mesh({{"p", 2}}), {{"k", {0}, {}}}};
  CHECK(!is_zero(doubled(kDenormal)));
  for (const Layout& layout : {whole, split})
    for (const int64_t left : elements_left(layout)) CHECK(left > 0);
  set_threads(2);
  float of_another_thread = 1;
  std::thread([&] { of_another_thread = doubled(kDenormal); }).join();
  CHECK(is_zero(of_another_thread));
  CHECK(is_zero(doubled(kDenormal)));
  for (const Layout& layout : {whole, split}) CHECK(elements_left(layout) == std::vector<int64_t>(5, 0));
  fesetenv(&before);
}

}  // namespace mtfc::denormals_test
