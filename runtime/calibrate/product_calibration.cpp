#include "runtime/calibrate/product_calibration.h"

#include <algorithm>
#include <array>

#include "runtime/calibrate/kernel_calibration.h"
#include "runtime/calibrate/timed_program.h"

namespace mtfc {
namespace {

struct Product {
  int64_t batch, m, n, k;
  double flops() const { return 2.0 * static_cast<double>(batch * m * n * k); }
  int64_t elements() const { return batch * (m * k + k * n + m * n); }
};

TimedProgram timed_product(const Product& p, DType dtype, NodeMemory* node) {
  Dims left = {{"m", p.m}, {"k", p.k}}, right = {{"k", p.k}, {"n", p.n}}, result = {{"m", p.m}, {"n", p.n}};
  if (p.batch > 1)
    for (Dims* dims : {&left, &right, &result}) dims->insert(dims->begin(), {"b", p.batch});
  return {{{dtype, left}, {dtype, right}},
          [&](GraphBuilder& b, const std::vector<TensorId>& in) {
            return std::vector{b.op("einsum", {in[0], in[1]}, {{"dims", result}})};
          },
          node};
}

// The products that are measured for single products and for batched ones.
struct Grid {
  const char* kernel;
  std::vector<int64_t> sizes;  // values of m, n and k
  int64_t batched_elements;    // minimum elements of a batch; 0: no batch
  double most_flops;
  std::vector<Product> kept_out;
};

const Grid kSingle = {"einsum",
                      {1, 8, 32, 128, 512, 2048, 8192},
                      0,
                      1.2e9,
                      {{1, 64, 64, 64},
                       {1, 256, 256, 256},
                       {1, 1024, 100, 48},
                       {1, 3000, 700, 300},
                       {1, 200, 1000, 4000},
                       {1, 100, 1024, 784}}};
const Grid kBatched = {"batched_einsum",
                       {1, 8, 32, 128, 512, 2048},
                       1 << 18,
                       1.2e9,
                       {{64, 64, 64, 64}, {64, 200, 200, 40}, {64, 128, 48, 128}, {16, 256, 256, 64}}};
constexpr int64_t kMostElements = int64_t{24} << 20;

Product product_of(const Grid& grid, int64_t m, int64_t n, int64_t k) {
  Product p{1, m, n, k};
  if (grid.batched_elements > 0)
    p.batch = std::max<int64_t>(16, grid.batched_elements / p.elements() / 2 * 2);
  return p;
}

class ProductCalibration {
 public:
  ProductCalibration(Stopwatch& watch, NodeMemory* node, const Grid& grid, Hardware& hardware)
      : watch_(watch), node_(node), grid_(grid), hardware_(hardware) {}

  // A product that would take too long gets the rate of the one whose longest size is the next smaller.
  ProductTable table() {
    ProductTable table;
    for (const int64_t size : grid_.sizes)
      for (std::vector<double>* sizes : {&table.m, &table.n, &table.k})
        sizes->push_back(static_cast<double>(size));
    const size_t count = grid_.sizes.size();
    table.shares.assign(count * count * count, 0);
    const auto index = [&](size_t m, size_t n, size_t k) { return (m * count + n) * count + k; };
    for (size_t m = 0; m < count; ++m)
      for (size_t n = 0; n < count; ++n)
        for (size_t k = 0; k < count; ++k) {
          const Product p = product_of(grid_, grid_.sizes[m], grid_.sizes[n], grid_.sizes[k]);
          std::array<size_t, 3> smaller = {m, n, k};
          --*std::max_element(smaller.begin(), smaller.end());
          const bool fits = p.flops() <= grid_.most_flops && p.elements() <= kMostElements;
          table.shares[index(m, n, k)] =
              fits ? share(p) : table.shares[index(smaller[0], smaller[1], smaller[2])];
        }
    return table;
  }

  FitQuality quality() {
    std::vector<double> predicted, measured;
    for (const Product& p : grid_.kept_out) {
      TimedProgram timed = timed_product(p, DType::kF32, node_);
      measured.push_back(timed.seconds(watch_));
      predicted.push_back(timed.predicted(hardware_));
    }
    return fit_quality(grid_.kernel, predicted, measured);
  }

 private:
  // The share of the peak rate, from the time without overhead and memory traffic, which depends on what ran
  // before.
  double share(const Product& p) {
    TimedProgram timed = timed_product(p, DType::kF32, node_);
    const double seconds = timed.seconds(watch_);
    const double net = std::max(
        seconds - hardware_.step_overhead_s - (1 - hardware_.overlap) * timed.predicted_memory(hardware_),
        seconds / 4);
    return std::clamp(p.flops() / net / hardware_.flops.at("f32"), 1e-6, 1.0);
  }

  Stopwatch& watch_;
  NodeMemory* node_;
  const Grid& grid_;
  Hardware& hardware_;
};

}  // namespace

void calibrate_peaks(Stopwatch& watch, const CalibrationOptions& options, NodeMemory* node,
                     Hardware& hardware) {
  options.begins("the peaks");
  for (const DType dtype : {DType::kF32, DType::kF64}) {
    double best = 0;
    for (const int64_t n : {256, 768, 1024, 2048}) {
      const Product cube{1, n, n, n};
      best = std::max(best, cube.flops() / timed_product(cube, dtype, node).seconds(watch));
    }
    hardware.flops[to_string(dtype)] = best;
  }
}

void calibrate_products(Stopwatch& watch, const CalibrationOptions& options, NodeMemory* node,
                        Hardware& hardware, std::vector<FitQuality>& fits) {
  for (Grid grid : {kSingle, kBatched}) {
    if (options.quick) grid.sizes = {8, 128, 1024};
    options.begins(grid.kernel);
    ProductCalibration calibration(watch, node, grid, hardware);
    hardware.products[grid.kernel] = calibration.table();
    fits.push_back(calibration.quality());
  }
}

}  // namespace mtfc
