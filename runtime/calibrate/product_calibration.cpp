#include <algorithm>
#include <array>
#include <cmath>

#include "runtime/calibrate/calibration_parts.h"
#include "runtime/calibrate/timed_program.h"
#include "runtime/compute/threads.h"

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

// A convolution with 3 x 3 taps, which computes the products `p`: a square image of m places, k / 9 channels and n
// filters in each of `batch` groups.
TimedProgram timed_convolution(const Product& p, DType dtype, NodeMemory* node) {
  const auto side = std::llround(std::sqrt(static_cast<double>(p.m)));
  const Dim h{"h", side}, w{"w", side}, kh{"kh", 3}, kw{"kw", 3}, c{"c", p.k / 9}, o{"o", p.n};
  Dims image = {h, w}, filter = {kh, kw}, result = {h, w};
  if (p.batch > 1)
    for (Dims* dims : {&image, &filter, &result}) dims->push_back({"g", p.batch});
  image.push_back(c);
  filter.insert(filter.end(), {c, o});
  result.push_back(o);
  const auto window = [](const Dim& dim, const Dim& taps) {
    return Window{.dim = dim, .taps = taps, .to = dim, .low = 1, .high = 1};
  };
  return {{{dtype, image}, {dtype, filter}},
          [&](GraphBuilder& b, const std::vector<TensorId>& in) {
            return std::vector{b.op("conv", {in[0], in[1]},
                                    {{"dims", result}, {"windows", Windows{window(h, kh), window(w, kw)}}})};
          },
          node};
}

struct Sizes {
  std::vector<int64_t> m, n, k;  // ascending
};

Sizes cube(const std::vector<int64_t>& sizes) {
  return {sizes, sizes, sizes};
}

// The products that are measured for a class of kernels.
struct Grid {
  const char* kernel;
  TimedProgram (*timed)(const Product&, DType, NodeMemory*);
  Sizes sizes, quick_sizes;
  int64_t least_batch;       // the minimum size of a batch ...
  int64_t batched_elements;  // ... and its minimum elements
  int64_t taps;              // how often a product has each element of its first operand
  std::vector<Product> kept_out;
};

const Grid kSingle = {.kernel = "einsum",
                      .timed = timed_product,
                      .sizes = cube({1, 8, 32, 128, 512, 2048, 8192}),
                      .quick_sizes = cube({8, 128, 1024}),
                      .least_batch = 1,
                      .batched_elements = 0,
                      .taps = 1,
                      .kept_out = {{1, 64, 64, 64},
                                   {1, 256, 256, 256},
                                   {1, 1024, 100, 48},
                                   {1, 3000, 700, 300},
                                   {1, 200, 1000, 4000},
                                   {1, 100, 1024, 784}}};
const Grid kBatched = {
    .kernel = "batched_einsum",
    .timed = timed_product,
    .sizes = cube({1, 8, 32, 128, 512, 2048}),
    .quick_sizes = cube({8, 128, 1024}),
    .least_batch = 16,
    .batched_elements = 1 << 18,
    .taps = 1,
    .kept_out = {{64, 64, 64, 64}, {64, 200, 200, 40}, {64, 128, 48, 128}, {16, 256, 256, 64}}};
const Grid kConv = {
    .kernel = "conv",
    .timed = timed_convolution,
    .sizes = {{64, 256, 1024, 4096, 16384}, {1, 8, 16, 64, 512}, {9, 36, 144, 576, 4608}},
    .quick_sizes = {{64, 1024}, {8, 64}, {72, 576}},
    .least_batch = 1,
    .batched_elements = 0,
    .taps = 9,
    .kept_out = {{1, 3136, 96, 432}, {1, 10000, 32, 144}, {1, 196, 256, 2304}, {1, 50176, 16, 27}}};
const Grid kGroupedConv = {.kernel = "grouped_conv",
                           .timed = timed_convolution,
                           .sizes = {{64, 256, 1024, 4096, 16384}, {1, 8, 16, 32}, {9, 36, 144, 288}},
                           .quick_sizes = {{64, 1024}, {1, 8}, {9, 72}},
                           .least_batch = 32,
                           .batched_elements = 0,
                           .taps = 9,
                           .kept_out = {{48, 3136, 1, 9}, {8, 784, 16, 144}}};
constexpr double kMostFlops = 1.25e9;
constexpr int64_t kMostElements = int64_t{24} << 20;

Product product_of(const Grid& grid, int64_t m, int64_t n, int64_t k) {
  Product p{1, m, n, k};
  p.batch = std::max(grid.least_batch, grid.batched_elements / p.elements() / 2 * 2);
  return p;
}

// Returns which of m, n and k is the longest. Those at the beginning of the grid, where `at` is 0, don't count, because
// the grid has no smaller size for them.
size_t longest(const std::array<int64_t, 3>& sizes, const std::array<size_t, 3>& at) {
  size_t found = at[0] > 0 ? 0 : at[1] > 0 ? 1 : 2;
  for (size_t axis = 0; axis < 3; ++axis)
    if (at[axis] > 0 && sizes[axis] > sizes[found]) found = axis;
  return found;
}

std::vector<double> as_numbers(const std::vector<int64_t>& sizes) {
  return {sizes.begin(), sizes.end()};
}

class ProductCalibration {
 public:
  ProductCalibration(Stopwatch& watch, NodeMemory* node, const Grid& grid, Hardware& hardware)
      : watch_(watch), node_(node), grid_(grid), hardware_(hardware) {}

  // A product that would take too long, or too much memory, gets the rate of the one whose longest size is the next
  // smaller.
  ShareTable table() {
    ShareTable table{{as_numbers(grid_.sizes.m), as_numbers(grid_.sizes.n), as_numbers(grid_.sizes.k)}, {}};
    table.shares.assign(grid_.sizes.m.size() * grid_.sizes.n.size() * grid_.sizes.k.size(), 0);
    const auto index = [&](size_t m, size_t n, size_t k) {
      return (m * grid_.sizes.n.size() + n) * grid_.sizes.k.size() + k;
    };
    for (size_t m = 0; m < grid_.sizes.m.size(); ++m)
      for (size_t n = 0; n < grid_.sizes.n.size(); ++n)
        for (size_t k = 0; k < grid_.sizes.k.size(); ++k) {
          const Product p = product_of(grid_, grid_.sizes.m[m], grid_.sizes.n[n], grid_.sizes.k[k]);
          std::array<size_t, 3> at = {m, n, k};
          const bool fits = p.flops() <= kMostFlops && p.elements() / grid_.taps <= kMostElements;
          if (!fits) --at[longest({p.m, p.n, p.k}, at)];
          table.shares[index(m, n, k)] = fits ? share(p) : table.shares[index(at[0], at[1], at[2])];
        }
    return table;
  }

  FitQuality quality() {
    std::vector<double> predicted, measured;
    for (const Product& p : grid_.kept_out) {
      TimedProgram timed = grid_.timed(p, DType::kF32, node_);
      measured.push_back(timed.seconds(watch_));
      predicted.push_back(timed.predicted(hardware_));
    }
    return fit_quality(grid_.kernel, predicted, measured);
  }

 private:
  // The share of the peak rate, from the time without overhead and memory traffic, which depends on what ran
  // before.
  double share(const Product& p) {
    TimedProgram timed = grid_.timed(p, DType::kF32, node_);
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
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kBF16}) {
    double best = 0;
    for (const int64_t n : {256, 768, 1024, 2048}) {
      const Product cube{1, n, n, n};
      best = std::max(best, cube.flops() / timed_product(cube, dtype, node).seconds(watch));
    }
    // Convolutions have kernels of their own, which may be faster.
    const Product layer{1, 56 * 56, 64, 9 * 64};
    best = std::max(best, layer.flops() / timed_convolution(layer, dtype, node).seconds(watch));
    hardware.flops[to_string(dtype)] = best;
  }
}

std::map<std::string, double> quick_peaks(const std::vector<DType>& dtypes) {
  constexpr double kBudget = 0.05;  // seconds
  // Large enough for every thread, and short enough to be measured between two turns of another process.
  const int64_t n = threads() <= 4 ? 512 : 1024;
  const Product cube{1, n, n, n};
  Processes alone = Processes::alone();
  Stopwatch watch(alone, kBudget);
  std::map<std::string, double> peaks;
  for (const DType dtype : dtypes)
    peaks[to_string(dtype)] = cube.flops() / timed_product(cube, dtype, nullptr).least_seconds(watch);
  return peaks;
}

void calibrate_products(Stopwatch& watch, const CalibrationOptions& options, NodeMemory* node,
                        Hardware& hardware, std::vector<FitQuality>& fits) {
  for (Grid grid : {kSingle, kBatched, kConv, kGroupedConv}) {
    if (options.quick) grid.sizes = grid.quick_sizes;
    options.begins(grid.kernel);
    ProductCalibration calibration(watch, node, grid, hardware);
    hardware.tables[grid.kernel] = calibration.table();
    fits.push_back(calibration.quality());
  }
}

}  // namespace mtfc
