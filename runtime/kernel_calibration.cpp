#include "runtime/kernel_calibration.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/kernel_time.h"
#include "core/pipeline.h"
#include "runtime/comm_lockstep.h"
#include "runtime/executor.h"

namespace mtfc {
namespace {

using Build = std::function<TensorId(GraphBuilder&, const std::vector<TensorId>& inputs)>;

// A program of one device: what `build` makes of inputs of these types.
class Trial {
 public:
  Trial(const std::vector<TensorType>& inputs, const Build& build)
      : program_(compile(model_of(inputs, build), {}, {})),
        entry_(*program_.find("evaluate")),
        comm_(program_.mesh(), processes_),
        executor_(program_, comm_) {
    executor_.load(entry_);
    for (const Binding& input : entry_.inputs) fill(executor_.part(entry_, input.value, 0));
  }

  double seconds(Stopwatch& watch) {
    return watch.seconds([&] { executor_.run(entry_, run_++); });
  }
  size_t kernels() const { return entry_.steps.size(); }
  /// As the profile so far has it.
  double predicted(const Hardware& hardware) const {
    double sum = 0;
    for (const Step& step : entry_.steps)
      sum += kernel_time(entry_, step, program_.mesh(), hardware).seconds();
    return sum;
  }

 private:
  static Model model_of(const std::vector<TensorType>& types, const Build& build) {
    GraphBuilder b;
    Model model;
    std::vector<TensorId> inputs;
    for (size_t i = 0; i < types.size(); ++i) {
      const std::string name = fmt::format("x{}", i);
      inputs.push_back(b.add_input(name, types[i]));
      model.inputs.push_back({name, types[i], "", {}});
      model.dims = unite(model.dims, types[i].dims);
    }
    const TensorId result = build(b, inputs);
    b.name(result, "result");
    model.name = "calibration";
    model.outputs = {{"result", result}};
    model.graph = std::move(b).build();
    return model;
  }

  // Numbers that no operation makes slow: of middle size; indices within any table of 64 rows.
  static void fill(const LocalPart& part) {
    for (int64_t i = 0; i < part.elements(); ++i) {
      if (part.type.dtype == DType::kF32)
        reinterpret_cast<float*>(part.data)[i] = 0.5F + static_cast<float>(i % 97) / 97.0F;
      else if (part.type.dtype == DType::kF64)
        reinterpret_cast<double*>(part.data)[i] = 0.5 + static_cast<double>(i % 97) / 97.0;
      else
        reinterpret_cast<int32_t*>(part.data)[i] = static_cast<int32_t>(i * 7 % 64);
    }
  }

  Program program_;
  const EntryPoint& entry_;
  Processes processes_ = Processes::alone();
  LockstepComm comm_;
  Executor executor_;
  int64_t run_ = 0;
};

struct Product {
  int64_t batch, m, n, k;
  double flops() const { return 2.0 * static_cast<double>(m * n * k); }  // of one of the batch
};

Trial product_trial(const Product& p, DType dtype = DType::kF32) {
  Dims left = {{"m", p.m}, {"k", p.k}}, right = {{"k", p.k}, {"n", p.n}}, result = {{"m", p.m}, {"n", p.n}};
  if (p.batch > 1)
    for (Dims* dims : {&left, &right, &result}) dims->insert(dims->begin(), {"b", p.batch});
  return Trial({{dtype, left}, {dtype, right}}, [&](GraphBuilder& b, const std::vector<TensorId>& in) {
    return b.op("einsum", {in[0], in[1]}, {{"dims", result}});
  });
}

// Shapes that do as many operations as a cube of edge n, which divides by 4: the cube, long sums, and outer
// products.
std::vector<Product> products(int64_t batch, int64_t n) {
  return {{batch, n, n, n}, {batch, n / 2, n / 2, 4 * n}, {batch, 2 * n, 2 * n, n / 4}};
}

class KernelCalibration {
 public:
  KernelCalibration(Stopwatch& watch, const CalibrationOptions& options, Hardware& hardware,
                    std::vector<FitQuality>& fits)
      : watch_(watch), options_(options), hardware_(hardware), fits_(fits) {}

  void run() {
    options_.begins("the overhead of a kernel");
    measure_overhead();
    options_.begins("memory");
    measure_memory();
    options_.begins("matrix products");
    measure_peaks();
    measure_products("einsum", 1, {16, 32, 64, 128, 256, 512, 1024}, {96, 384});
    measure_products("batched_einsum", 32, {16, 32, 64, 128, 256}, {96});
    options_.begins("element-wise operations");
    measure_elementwise();
  }

 private:
  // A chain of kernels that can't become one, on a few elements.
  void measure_overhead() {
    const Dim dim = {"a", 4};
    Trial chain({{DType::kF32, {dim}}}, [&](GraphBuilder& b, const std::vector<TensorId>& in) {
      TensorId last = in[0];
      for (int i = 0; i < 200; ++i) last = b.op("cumsum", {last}, {{"dim", dim}});
      return last;
    });
    hardware_.step_overhead_s = chain.seconds(watch_) / static_cast<double>(chain.kernels());
  }

  // Sums of two arrays.
  double bandwidth(int64_t bytes, double& seconds) {
    const TensorType type{DType::kF32, {{"a", bytes / 12}}};
    seconds = Trial({type, type}, [](GraphBuilder& b, const std::vector<TensorId>& in) {
                return b.op("add", {in[0], in[1]});
              }).seconds(watch_);
    return static_cast<double>(bytes) / net(seconds);
  }

  // Without the overhead, of which what is measured may have had less.
  double net(double seconds) const { return std::max(seconds - hardware_.step_overhead_s, seconds / 4); }

  void measure_memory() {
    std::vector<std::pair<double, double>> points;
    double seconds = 0;
    for (int64_t bytes = 48 << 10; bytes <= 200 << 20; bytes *= 4)
      points.emplace_back(static_cast<double>(bytes), bandwidth(bytes, seconds));
    hardware_.memory_bandwidth = Curve(points);
    std::vector<double> predicted, measured;
    for (const int64_t bytes : {96 << 10, 1536 << 10, 24 << 20}) {
      bandwidth(bytes, seconds);
      measured.push_back(seconds);
      predicted.push_back(hardware_.step_overhead_s +
                          static_cast<double>(bytes) /
                              hardware_.memory_bandwidth.at(static_cast<double>(bytes)));
    }
    fits_.push_back(fit_quality("memory", predicted, measured));
  }

  void measure_peaks() {
    for (const DType dtype : {DType::kF32, DType::kF64}) {
      double best = 0;
      for (const int64_t n : {256, 768, 1024}) {
        const Product cube{1, n, n, n};
        best = std::max(best, cube.flops() / net(product_trial(cube, dtype).seconds(watch_)));
      }
      hardware_.flops[to_string(dtype)] = best;
    }
  }

  // The least squares of the logarithms at each size: their mean over shapes.
  void measure_products(const std::string& kernel, int64_t batch, const std::vector<int64_t>& edges,
                        const std::vector<int64_t>& kept_out) {
    const double peak = hardware_.flops.at("f32");
    std::vector<std::pair<double, double>> points;
    for (const int64_t n : edges) {
      double logarithms = 0;
      const std::vector<Product> shapes = products(batch, n);
      for (const Product& p : shapes) {
        const double rate = p.flops() * static_cast<double>(batch) / net(product_trial(p).seconds(watch_));
        logarithms += std::log(std::min(1.0, rate / peak));
      }
      points.emplace_back(shapes[0].flops(), std::exp(logarithms / static_cast<double>(shapes.size())));
    }
    hardware_.efficiency[kernel] = Curve(points);
    std::vector<double> predicted, measured;
    for (const int64_t n : kept_out)
      for (const Product& p : products(batch, n)) {
        Trial trial = product_trial(p);
        measured.push_back(trial.seconds(watch_));
        predicted.push_back(trial.predicted(hardware_));
      }
    fits_.push_back(fit_quality(kernel, predicted, measured));
  }

  // y = kind(x + 1) + kind(x + 2) ..., with as many sums for each; fused, in the cache.
  double seconds_of(const std::string& kind, int64_t elements) {
    const TensorType type{DType::kF32, {{"a", elements}}};
    return Trial({type},
                 [&](GraphBuilder& b, const std::vector<TensorId>& in) {
                   TensorId sum = kNoTensor;
                   for (int i = 1; i <= kTerms; ++i) {
                     TensorId term = b.op("add", {in[0], b.constant(0.01 * i, DType::kF32)});
                     if (kind == "div")
                       term = b.op("div", {in[0], term});
                     else if (kind == "pow")
                       term = b.op("pow", {in[0], term});
                     else if (!kind.empty())
                       term = b.op(kind, {term});
                     sum = sum == kNoTensor ? term : b.op("add", {sum, term});
                   }
                   return sum;
                 })
        .seconds(watch_);
  }

  void set_rate(const std::string& kernel, double operations, double seconds) {
    const double share = operations / seconds / hardware_.flops.at("f32");
    hardware_.efficiency[kernel] = Curve(std::clamp(share, 1e-6, 1.0));
  }

  void measure_elementwise() {
    const auto per_kind = static_cast<double>(kTerms * kElements);
    const double sums = net(seconds_of("", kElements));
    set_rate("elementwise", 2 * per_kind, sums);
    for (const char* kind : {"exp", "log", "tanh", "erf", "gelu", "sigmoid", "silu", "softplus", "sqrt",
                             "rsqrt", "sin", "cos", "div", "pow"})
      set_rate(kind, per_kind, std::max(net(seconds_of(kind, kElements)) - sums, sums / (2 * kTerms)));
    const Dim rows = {"r", 128}, columns = {"c", kElements / 128};
    const TensorType matrix{DType::kF32, {rows, columns}};
    const double elements = static_cast<double>(kElements);
    set_rate("reduction", elements,
             net(Trial({matrix}, [&](GraphBuilder& b, const std::vector<TensorId>& in) {
                   return b.op("reduce_sum", {in[0]}, {{"over", Dims{columns}}});
                 }).seconds(watch_)));
    const std::vector<std::pair<std::string, Attributes>> generators = {
        {"random_uniform", {{"dims", matrix.dims}}}, {"random_normal", {{"dims", matrix.dims}}}};
    for (const auto& [kind, attributes] : generators) {
      const double seconds = net(
          Trial({}, [&, kind = kind, attributes = attributes](GraphBuilder& b, const std::vector<TensorId>&) {
            return b.op(kind, {}, attributes);
          }).seconds(watch_));
      set_rate(kind, elements, seconds);
      if (kind == "random_uniform") set_rate("generator", elements, seconds);
    }
  }

  static constexpr int kTerms = 6;
  static constexpr int64_t kElements = 1 << 18;

  Stopwatch& watch_;
  const CalibrationOptions& options_;
  Hardware& hardware_;
  std::vector<FitQuality>& fits_;
};

}  // namespace

FitQuality fit_quality(const std::string& what, const std::vector<double>& predicted,
                       const std::vector<double>& measured) {
  FitQuality quality{what, static_cast<int>(measured.size()), 0, 0};
  for (size_t i = 0; i < measured.size(); ++i) {
    const double error = std::abs(predicted[i] / measured[i] - 1);
    quality.mean_error += error / static_cast<double>(measured.size());
    quality.worst_error = std::max(quality.worst_error, error);
  }
  return quality;
}

void calibrate_kernels(Stopwatch& watch, const CalibrationOptions& options, Hardware& hardware,
                       std::vector<FitQuality>& fits) {
  KernelCalibration(watch, options, hardware, fits).run();
}

}  // namespace mtfc
