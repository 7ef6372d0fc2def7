#include <algorithm>
#include <cmath>

#include "core/graph/op_registry.h"
#include "runtime/calibrate/calibration_parts.h"
#include "runtime/calibrate/timed_program.h"

namespace mtfc {
namespace {

constexpr int64_t kFewElements = 1 << 18;  // f32 elements that stay in the caches
constexpr int64_t kLargestPart = 1 << 18;  // elements of one step's result when memory is measured
constexpr int kTerms = 6;

// A matrix of at least `elements` elements, with rows of a length that models have.
TensorType matrix(int64_t elements) {
  return {DType::kF32, {{"r", (elements + 255) / 256}, {"c", 256}}};
}

std::vector<const OpDef*> measured_alone(Family family) {
  std::vector<const OpDef*> ops;
  for (const OpDef* op : all_ops())
    if (op->family == family && op->traits.own_pace) ops.push_back(op);
  return ops;
}

class KernelCalibration {
 public:
  KernelCalibration(Stopwatch& watch, const CalibrationOptions& options, NodeMemory* node, Hardware& hardware,
                    std::vector<FitQuality>& fits)
      : watch_(watch), options_(options), node_(node), hardware_(hardware), fits_(fits) {}

  void run() {
    options_.begins("the overhead of a kernel");
    measure_overhead();
    calibrate_peaks(watch_, options_, node_, hardware_);
    options_.begins("element-wise operations");
    measure_elementwise();
    measure_rows();
    measure_pools();
    measure_generators();
    options_.begins("memory");
    hardware_.overlap = 0;
    measure_memory();
    measure_picking();
    calibrate_products(watch_, options_, node_, hardware_, fits_);
    options_.begins("how memory and arithmetic overlap");
    measure_overlap();
    memory_quality();
  }

 private:
  using Inputs = std::vector<TensorId>;

  double seconds_of(const std::vector<TensorType>& inputs, const TimedGraph& build) {
    return TimedProgram(inputs, build, node_).seconds(watch_);
  }

  // Times a chain of kernels that can't be fused, on a few elements.
  void measure_overhead() {
    const Dim dim = {"a", 4};
    TimedProgram chain(
        {{DType::kF32, {dim}}},
        [&](GraphBuilder& b, const Inputs& in) {
          TensorId last = in[0];
          for (int i = 0; i < 200; ++i) last = b.op("cumsum", {last}, {{"dim", dim}});
          return std::vector{last};
        },
        node_);
    hardware_.step_overhead_s = chain.seconds(watch_) / static_cast<double>(chain.steps());
  }

  // Subtracts the overhead, but at most three quarters of the time: the measured program may have had less of
  // it.
  double net(double seconds) const { return std::max(seconds - hardware_.step_overhead_s, seconds / 4); }

  // -- arithmetic --

  // y = op(x + 1) + op(x + 2) + ..., with as many additions for each operation; fused. An operation of two
  // operands takes x first. nullptr: only the additions.
  double seconds_of_terms(const OpDef* op, int64_t elements) {
    return seconds_of({matrix(elements)}, [&](GraphBuilder& b, const Inputs& in) {
      TensorId sum = kNoTensor;
      for (int i = 1; i <= kTerms; ++i) {
        TensorId term = b.op("add", {in[0], b.constant(0.01 * i, DType::kF32)});
        if (op)
          term =
              b.op(op->signature.name, op->signature.min_operands == 2 ? Inputs{in[0], term} : Inputs{term});
        sum = sum == kNoTensor ? term : b.op("add", {sum, term});
      }
      return std::vector{sum};
    });
  }

  // The share of the peak rate of a kernel that does `operations` in `seconds`.
  double share_of(double operations, double seconds) const {
    return std::clamp(operations / seconds / hardware_.flops.at("f32"), 1e-6, 1.0);
  }

  void measure_elementwise() {
    const std::vector<const OpDef*> kinds = measured_alone(Family::kElementwise);
    std::map<std::string, std::vector<std::pair<double, double>>> curves;
    for (const int64_t elements : {1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18}) {
      const auto operations = static_cast<double>(kTerms * elements);
      const double sums = net(seconds_of_terms(nullptr, elements));
      curves["elementwise"].emplace_back(elements, share_of(2 * operations, sums));
      if (elements != 1 << 12 && elements != 1 << 18) continue;
      for (const OpDef* op : kinds) {
        const double seconds = net(seconds_of_terms(op, elements)) - sums;
        curves[std::string(op->signature.name)].emplace_back(
            elements, share_of(operations, std::max(seconds, sums / (2 * kTerms))));
      }
    }
    for (const auto& [kind, points] : curves) hardware_.efficiency[kind] = Curve(points);
  }

  void measure_generators() {
    const Dims dims = matrix(kFewElements).dims;
    for (const OpDef* op : measured_alone(Family::kGenerator)) {
      const double seconds = net(seconds_of({}, [&](GraphBuilder& b, const Inputs&) {
        return std::vector{b.op(op->signature.name, {}, {{"dims", dims}})};
      }));
      hardware_.efficiency[std::string(op->signature.name)] =
          Curve(share_of(static_cast<double>(kFewElements), seconds));
    }
  }

  // Measures the kernels that work along rows of a matrix.
  void measure_rows() {
    const Dim columns = {"c", 256};
    const TensorType rows{DType::kF32, {{"r", kFewElements / columns.size}, columns}};
    const auto elements = static_cast<double>(kFewElements);
    const double difference =
        elements / (hardware_.flops.at("f32") * hardware_.efficiency.at("elementwise").at(elements));
    // Reductions are mostly parts of fused steps, and their results go back to the rows: y = x - kind(x),
    // twice.
    for (const auto& [kernel, kind] : {std::pair("reduction", "reduce_mean"), {"reduce_max", "reduce_max"}}) {
      const double seconds = net(seconds_of({rows}, [&, kind = kind](GraphBuilder& b, const Inputs& in) {
        TensorId x = in[0];
        for (int i = 0; i < 2; ++i) x = b.op("sub", {x, b.op(kind, {x}, {{"over", Dims{columns}}})});
        return std::vector{x};
      }));
      hardware_.efficiency[kernel] =
          Curve(share_of(2 * elements, std::max(seconds - 2 * difference, seconds / 4)));
    }
    const std::vector<std::pair<std::string, Attributes>> kinds = {{"argmax", {{"over", Dims{columns}}}},
                                                                   {"cumsum", {{"dim", columns}}}};
    for (const auto& kind : kinds) {
      const double seconds = net(seconds_of({rows}, [&](GraphBuilder& b, const Inputs& in) {
        return std::vector{b.op(kind.first, {in[0]}, kind.second)};
      }));
      hardware_.efficiency[kind.first] = Curve(share_of(elements, seconds));
    }
  }

  // Measures pools of 2 x 2 elements of an image with many channels. The gradients of a max_pool need the taps that it
  // found.
  void measure_pools() {
    const Dim h = {"h", 64}, w = {"w", 64}, c = {"c", 64}, to_h = {"to_h", 32}, to_w = {"to_w", 32};
    const Dim taps = {"", 2};
    const Attributes halving = {{"windows", Windows{{.dim = h, .taps = taps, .to = to_h, .stride = 2},
                                                    {.dim = w, .taps = taps, .to = to_w, .stride = 2}}}};
    const std::vector<TensorType> image = {{DType::kF32, {h, w, c}}};
    const auto read = static_cast<double>(h.size * w.size * c.size), pooled = read / 4;
    const auto largest = [&](GraphBuilder& b, const Inputs& in) {
      return b.add(op_named("argmax_pool"), in, halving);
    };
    const double sums = seconds_of(
        image, [&](GraphBuilder& b, const Inputs& in) { return std::vector{b.op("sum_pool", in, halving)}; });
    const double search = seconds_of(image, largest);
    const double picking = seconds_of(image, [&](GraphBuilder& b, const Inputs& in) {
      return std::vector{b.op("pick_pool", {in[0], largest(b, in)[1]}, halving)};
    });
    const double spreading = seconds_of(image, [&](GraphBuilder& b, const Inputs& in) {
      return std::vector{b.op("spread_pool", largest(b, in), halving)};
    });
    const auto set = [&](const std::string& kernel, double operations, double seconds) {
      hardware_.efficiency[kernel] = Curve(share_of(operations, net(seconds)));
    };
    set("pooling", read, sums);
    set("argmax_pool", read, search);
    set("pick_pool", pooled, std::max(picking - search, picking / 10));
    set("spread_pool", 4 * read, std::max(spreading - search, spreading / 10));
  }

  // -- memory --

  // Runs steps that touch `bytes` in all, one after another, again and again. Returns the seconds to write
  // one byte and read `reads` bytes, beside the arithmetic.
  double seconds_a_byte(int64_t bytes, int64_t reads, int64_t& touched) {
    const int64_t streams = reads + 1, all = bytes / 4 / streams;
    const int64_t steps = std::max<int64_t>(1, all / kLargestPart), part = all / steps;
    touched = 4 * part * steps * streams;
    const std::vector<TensorType> inputs(static_cast<size_t>(reads * steps), matrix(part));
    const double total = seconds_of(inputs, [&](GraphBuilder& b, const Inputs& in) {
      std::vector<TensorId> results;
      for (int64_t s = 0; s < steps; ++s) {
        const auto at = static_cast<size_t>(s * reads);
        results.push_back(reads == 2 ? b.op("add", {in[at], in[at + 1]}) : b.op("relu", {in[at]}));
      }
      return results;
    });
    const double operations = static_cast<double>(part),
                 compute = operations / (hardware_.flops.at("f32") *
                                         hardware_.efficiency.at("elementwise").at(operations)),
                 step = net(total / static_cast<double>(steps));
    return std::max(step - compute, step / 10) / static_cast<double>(4 * part);
  }

  void measure_memory() {
    std::vector<std::pair<double, double>> reads, writes;
    for (const int64_t bytes : {48 << 10, 192 << 10, 768 << 10, 3 << 20, 6 << 20, 12 << 20, 24 << 20,
                                48 << 20, 96 << 20, 192 << 20}) {
      int64_t touched = 0;
      const double one = seconds_a_byte(bytes, 1, touched), two = seconds_a_byte(bytes, 2, touched);
      // A write takes at least as long as a read, because its line is read first. The clamps keep noise out.
      const double read = std::clamp(two - one, one / 4, one / 2), write = one - read;
      reads.emplace_back(static_cast<double>(touched), 1 / read);
      writes.emplace_back(static_cast<double>(touched), 1 / write);
    }
    hardware_.memory_bandwidth = Curve(reads);
    hardware_.write_bandwidth = Curve(writes);
  }

  // Measures layers whose products and fused steps find little in the caches except what the step before has
  // left: between full overlap and none, the predicted time changes linearly.
  void measure_overlap() {
    constexpr size_t kLayers = 6;
    const Dim rows = {"r", 4096}, model = {"m", 64}, hidden = {"h", 512};
    std::vector<TensorType> inputs = {{DType::kF32, {rows, model}}};
    for (size_t layer = 0; layer < kLayers; ++layer) {
      inputs.push_back({DType::kF32, {model, hidden}});
      inputs.push_back({DType::kF32, {hidden, model}});
    }
    TimedProgram layers(
        inputs,
        [&](GraphBuilder& b, const Inputs& in) {
          TensorId x = in[0];
          for (size_t layer = 0; layer < kLayers; ++layer) {
            TensorId h = b.op("einsum", {x, in[2 * layer + 1]}, {{"dims", Dims{rows, hidden}}});
            h = b.op("relu", {b.op("sub", {h, b.constant(0.5, DType::kF32)})});
            const TensorId y = b.op("einsum", {h, in[2 * layer + 2]}, {{"dims", Dims{rows, model}}});
            x = b.op("add", {x, y});
            const TensorId size = b.op("reduce_mean", {b.op("square", {x})}, {{"over", Dims{model}}});
            x = b.op("mul", {x, b.op("rsqrt", {size})});
          }
          const TensorId loss = b.op("reduce_mean", {b.op("square", {x})}, {{"over", Dims{rows, model}}});
          return b.add_gradients(loss, {in.begin() + 1, in.end()});
        },
        node_);
    const double measured = layers.seconds(watch_);
    hardware_.overlap = 0;
    const double apart = layers.predicted(hardware_);
    hardware_.overlap = 1;
    const double together = layers.predicted(hardware_);
    hardware_.overlap = std::clamp((apart - measured) / std::max(apart - together, 1e-12), 0.0, 1.0);
  }

  // Measures operations that compute nothing: their time beside the memory traffic.
  void measure_picking() {
    const Dim rows = {"r", 64}, columns = {"c", 128}, indices = {"i", 4096};
    const TensorType table{DType::kF32, {rows, columns}}, picks{DType::kI32, {indices}},
        updates{DType::kF32, {indices, columns}};
    const double picked = 2 * static_cast<double>(indices.size * columns.size);
    set_pace("indexing", picked, {table, picks}, [&](GraphBuilder& b, const Inputs& in) {
      return std::vector{b.op("gather", {in[0], in[1]}, {{"dim", rows}})};
    });
    set_pace("scatter_add", picked, {updates, picks}, [&](GraphBuilder& b, const Inputs& in) {
      return std::vector{b.op("scatter_add", {in[0], in[1]}, {{"dim", rows}})};
    });
    const Dim x = {"x", 512}, y = {"y", 512};
    set_pace("movement", 2 * static_cast<double>(x.size * y.size), {{DType::kF32, {x, y}}},
             [&](GraphBuilder& b, const Inputs& in) {
               return std::vector{b.op("transpose", {in[0]}, {{"dims", Dims{y, x}}})};
             });
  }

  void set_pace(const std::string& kernel, double elements, const std::vector<TensorType>& inputs,
                const TimedGraph& build) {
    TimedProgram timed(inputs, build, node_);
    const double seconds = timed.seconds(watch_);
    hardware_.efficiency[kernel] =
        Curve(share_of(elements, std::max(net(seconds) - timed.predicted_memory(hardware_), seconds / 20)));
  }

  void memory_quality() {
    std::vector<double> predicted, measured;
    for (const int64_t bytes : {96 << 10, 1536 << 10, 16 << 20, 160 << 20}) {
      const std::vector<TensorType> inputs(
          static_cast<size_t>(std::max<int64_t>(1, bytes / 8 / kLargestPart)),
          matrix(std::min(bytes / 8, kLargestPart)));
      TimedProgram timed(
          inputs,
          [&](GraphBuilder& b, const Inputs& in) {
            std::vector<TensorId> results;
            for (const TensorId x : in) results.push_back(b.op("relu", {x}));
            return results;
          },
          node_);
      measured.push_back(timed.seconds(watch_));
      predicted.push_back(timed.predicted(hardware_));
    }
    fits_.push_back(fit_quality("memory", predicted, measured));
  }

  Stopwatch& watch_;
  const CalibrationOptions& options_;
  NodeMemory* node_;
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

void calibrate_kernels(Stopwatch& watch, const CalibrationOptions& options, NodeMemory* node,
                       Hardware& hardware, std::vector<FitQuality>& fits) {
  KernelCalibration(watch, options, node, hardware, fits).run();
}

}  // namespace mtfc
