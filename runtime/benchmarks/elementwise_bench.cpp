// Compares element-wise models with a plain copy of the bytes that they must read and write once:
//   elementwise_bench [THREADS]
// Prints one JSON object per line: case, threads, bytes, seconds of a step and of the copy, their ratio (1:
// as fast as the copy), and the program's steps. Tensors are f32 [2048, 8192].

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string>

#include "core/graph/op_registry.h"
#include "runtime/benchmarks/bench_runs.h"
#include "runtime/compute/parallel.h"
#include "runtime/compute/threads.h"
#include "runtime/memory/dtypes.h"

namespace {

using namespace mtfc;

constexpr int64_t kRows = 2048, kColumns = 8192;
const Dims kDims = {{"row", kRows}, {"column", kColumns}};
const TensorType kMatrix = {DType::kF32, kDims};

// A model under construction; `bytes` adds up its inputs and outputs.
struct Draft {
  GraphBuilder b;
  Model model;
  int64_t bytes = 0;

  TensorId input(const std::string& name, const TensorType& type) {
    model.inputs.push_back({name, type, "", {}});
    bytes += mtfc::bytes(type);
    return b.add_input(name, type);
  }
  TensorId variable(const std::string& name, const TensorType& type) {
    model.variables.push_back({name, type, Init{InitKind::kConstant, 0, 0}, false, false, {}});
    bytes += mtfc::bytes(type);
    return b.add_variable(name, type);
  }
  void assign(const std::string& name, TensorId value) {
    model.assignments.push_back({name, value, {}});
    bytes += mtfc::bytes(b.type(value));
  }
  void output(const std::string& name, TensorId value) {
    b.name(value, name);
    model.outputs.push_back({name, value});
    bytes += mtfc::bytes(b.type(value));
  }
  Model finish(const std::string& name) {
    model.name = name;
    model.dims = kDims;
    model.graph = std::move(b).build();
    return std::move(model);
  }
  TensorId number(double value) { return b.constant(value, DType::kF32); }
  TensorId op(std::string_view kind, std::vector<TensorId> operands) {
    return b.op(kind, std::move(operands));
  }
};

const Attributes kOverColumns = {{"over", Dims{kDims[1]}}};

TensorId over_columns(Draft& d, std::string_view composite, std::vector<TensorId> operands) {
  return d.b.add(*find_composite(composite), std::move(operands), kOverColumns)[0];
}

// beta * slot + (1 - beta) * value
TensorId average(Draft& d, TensorId slot, TensorId value, double beta) {
  return d.op("add", {d.op("mul", {slot, d.number(beta)}), d.op("mul", {value, d.number(1 - beta)})});
}

// The update of AdamW with bias correction; its step counter is a variable.
void adamw(Draft& d) {
  const TensorId w = d.variable("w", kMatrix), m = d.variable("m", kMatrix), v = d.variable("v", kMatrix);
  const TensorId t = d.variable("t", {DType::kF32, {}}), g = d.input("g", kMatrix);
  const double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0.01;
  const TensorId next_t = d.op("add", {t, d.number(1)});
  const auto correction = [&](double beta) {
    return d.op("sub", {d.number(1), d.op("pow", {d.number(beta), next_t})});
  };
  const TensorId next_m = average(d, m, g, beta1), next_v = average(d, v, d.op("square", {g}), beta2);
  const TensorId mean = d.op("div", {next_m, correction(beta1)});
  const TensorId root = d.op("sqrt", {d.op("div", {next_v, correction(beta2)})});
  const TensorId decayed = d.op("mul", {w, d.number(1 - lr * weight_decay)});
  const TensorId slope = d.op("div", {mean, d.op("add", {root, d.number(eps)})});
  d.assign("w", d.op("sub", {decayed, d.op("mul", {slope, d.number(lr)})}));
  d.assign("m", next_m);
  d.assign("v", next_v);
  d.assign("t", next_t);
}

using Function = TensorId (*)(Draft&, TensorId);

TensorId gelu(Draft& d, TensorId x) {
  return d.op("gelu", {x});
}
TensorId layer_norm(Draft& d, TensorId x) {
  return over_columns(d, "layer_norm", {x});
}
TensorId softmax(Draft& d, TensorId x) {
  return over_columns(d, "softmax", {x});
}
TensorId cross_entropy(Draft& d, TensorId x) {
  const TensorId labels = d.input("labels", {DType::kI32, {{"row", kRows}}});
  d.output("labels", labels);  // keeps them from step to step
  return over_columns(d, "softmax_cross_entropy", {x, labels});
}

void forward(Draft& d, Function f) {
  d.output("y", f(d, d.input("x", kMatrix)));
}

// Computes the gradient of x from x and the gradient of the result.
void backward(Draft& d, Function f) {
  const TensorId x = d.input("x", kMatrix), y = f(d, x), dy = d.input("dy", d.b.type(y));
  const TensorId product = d.op("mul", {y, dy});
  const TensorId loss = d.b.op("reduce_sum", {product}, {{"over", d.b.dims(product)}});
  d.output("dx", d.b.add_gradients(loss, {x})[0]);
}

void fill(const std::vector<LocalShard>& leaves) {
  uint64_t state = 1;
  for (const LocalShard& leaf : leaves)
    for (int64_t i = 0; i < leaf.elements(); ++i) {
      state = state * 6364136223846793005ULL + 1442695040888963407ULL;
      const double uniform = static_cast<double>(state >> 40) / static_cast<double>(1 << 24);
      if (leaf.type.dtype == DType::kF32)
        reinterpret_cast<float*>(leaf.data)[i] = static_cast<float>(uniform);
      else
        reinterpret_cast<int32_t*>(leaf.data)[i] = static_cast<int32_t>(uniform * kColumns);
    }
}

void measure(const std::string& name, Draft& draft, int threads) {
  const int64_t bytes = draft.bytes;
  BenchRun run(draft.finish(name));
  fill(run.leaves());
  // Touches the memory first, so that no page is allocated while the clock runs.
  std::vector<std::byte> from(static_cast<size_t>(bytes / 2), std::byte{1}), to(from);
  const auto copy = [&] {
    parallel_ranges(bytes / 2, bytes / 2, [&](int64_t begin, int64_t end) {
      std::memcpy(to.data() + begin, from.data() + begin, static_cast<size_t>(end - begin));
    });
  };
  const std::vector<double> seconds = alternating_medians(9, {[&] { run.step(); }, copy});
  fmt::print(
      "{{\"case\": \"{}\", \"threads\": {}, \"bytes\": {}, \"seconds\": {:.6f}, \"copy_seconds\": {:.6f}, "
      "\"ratio\": {:.4f}, \"steps\": {}}}\n",
      name, threads, bytes, seconds[0], seconds[1], seconds[1] / seconds[0], run.entry().steps.size());
  std::fflush(stdout);
}

}  // namespace

int main(int count, char** arguments) {
  const int threads = count > 1 ? std::atoi(arguments[1]) : 1;
  set_threads(threads);
  {
    Draft draft;
    adamw(draft);
    measure("adamw update", draft, threads);
  }
  const std::pair<const char*, Function> functions[] = {
      {"gelu", gelu}, {"layer_norm", layer_norm}, {"softmax", softmax}, {"cross_entropy", cross_entropy}};
  for (const auto& [name, function] : functions) {
    Draft there, back;
    forward(there, function);
    measure(name, there, threads);
    backward(back, function);
    measure(std::string(name) + " gradient", back, threads);
  }
}
