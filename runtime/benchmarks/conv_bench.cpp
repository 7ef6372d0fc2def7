// The rates of convolutions and pools as the runtime calls them, beside those of matrix products of n = 1024:
//   conv_bench [THREADS...]     (default: 1)
// Each case alternates with a product of its dtype, and medians are compared; "share" is the ratio of the two rates.
// The rates of pools are those of the bytes of their operands and results.

#include <fmt/format.h>

#include <cstdlib>
#include <memory>
#include <string_view>
#include <vector>

#include "core/op_rules/conv_plan.h"
#include "core/tensors/alignment.h"
#include "runtime/benchmarks/bench_runs.h"
#include "runtime/compute/blas.h"
#include "runtime/compute/kernel.h"
#include "runtime/compute/threads.h"
#include "runtime/memory/arena.h"

namespace {

using namespace mtfc;

constexpr int kRounds = 9;
constexpr int64_t kSide = 1024;  // of the products

/// Writes values in [-1, 1), the same in every run; small integers for indices.
void fill(const TensorType& type, std::byte* data) {
  uint32_t state = 1;
  const auto next = [&] {
    state = state * 1664525 + 1013904223;
    return state >> 8;
  };
  for (int64_t i = 0, count = elements(type.dims); i < count; ++i)
    if (type.dtype == DType::kF32)
      reinterpret_cast<float*>(data)[i] = static_cast<float>(next()) / (1 << 23) - 1;
    else if (type.dtype == DType::kF64)
      reinterpret_cast<double*>(data)[i] = static_cast<double>(next()) / (1 << 23) - 1;
    else
      reinterpret_cast<int32_t*>(data)[i] = static_cast<int32_t>(next() % 9);
}

/// A prepared kernel on whole tensors, with its memory.
class Call {
 public:
  Call(const char* op, Windows windows, const std::vector<TensorType>& operands,
       const std::vector<TensorType>& results)
      : attributes_{{"windows", std::move(windows)}} {
    KernelSite site{attributes_, {}, {}, "bench", 0};
    if (std::string_view(op) == "conv")
      site.workspace_bytes = conv_workspace(attributes_, held_whole(operands), held_whole(results[0]));
    int64_t size = 0;
    for (const auto* types : {&operands, &results})
      for (const TensorType& type : *types) size += aligned(mtfc::bytes(type)), bytes_ += mtfc::bytes(type);
    arena_ = std::make_unique<Arena>(size + site.workspace_bytes);
    int64_t offset = 0;
    const auto place = [&](const TensorType& type) {
      std::byte* const at = arena_->at(offset);
      fill(type, at);
      offset += aligned(mtfc::bytes(type));
      return at;
    };
    for (const TensorType& type : operands) {
      site.operands.push_back({type, whole_box(type.dims)});
      from_.push_back(place(type));
    }
    for (const TensorType& type : results) {
      site.results.push_back({type, whole_box(type.dims)});
      to_.push_back(place(type));
    }
    workspace_ = arena_->at(offset);
    kernel_ = prepare_kernel(op, site);
  }
  int64_t run() { return kernel_({.operands = from_, .results = to_, .workspace = workspace_}); }
  int64_t bytes() const { return bytes_; }

 private:
  Attributes attributes_;
  std::unique_ptr<Arena> arena_;
  std::vector<const std::byte*> from_;
  std::vector<std::byte*> to_;
  std::byte* workspace_ = nullptr;
  int64_t bytes_ = 0;
  Kernel kernel_;
};

/// A convolution of square images.
struct Shape {
  const char* name;
  int64_t batch, size, in, out, taps, stride;
  DType dtype = DType::kF32;
  bool depthwise = false;
};

const Shape kShapes[] = {
    {"3x3", 8, 56, 64, 64, 3, 1},
    {"3x3 stride 2", 8, 56, 64, 128, 3, 2},
    {"3x3 deep", 8, 14, 256, 256, 3, 1},
    {"3x3 deepest", 8, 7, 512, 512, 3, 1},
    {"1x1", 8, 56, 64, 256, 1, 1},
    {"1x1 narrow", 8, 28, 512, 128, 1, 1},
    {"7x7 stride 2", 8, 224, 3, 64, 7, 2},
    {"3x3 digits", 64, 28, 1, 32, 3, 1},
    {"3x3 f64", 8, 56, 64, 64, 3, 1, DType::kF64},
    {"3x3 depthwise", 8, 56, 64, 64, 3, 1, DType::kF32, true},
    {"3x3 depthwise 2", 8, 28, 256, 256, 3, 2, DType::kF32, true},
};

Window window_of(const std::string& dim, const Shape& s) {
  Window window{
      .dim = {dim, s.size}, .taps = {"k" + dim, s.taps}, .to = {"to_" + dim, 0}, .stride = s.stride};
  window.low = window.high = s.taps / 2;
  window.to.size = window_places(window);
  return window;
}

/// The rates of `call` and of a product, in Gflop/s; and the seconds of the call.
struct Rates {
  double own, product, seconds;
};

template <typename T>
Rates measure(Call& call) {
  static std::vector<T> a(kSide * kSide, T(0.5)), b(kSide * kSide, T(0.25)), c(kSide * kSide);
  const MatrixProduct product{kSide, kSide, kSide, false, false, kSide, kSide, kSide};
  int64_t flops = 0;
  const std::vector<double> medians = alternating_medians(
      kRounds, {[&] { flops = call.run(); }, [&] { multiply(product, a.data(), b.data(), c.data()); }});
  return {1e-9 * static_cast<double>(flops) / medians[0], 2e-9 * kSide * kSide * kSide / medians[1],
          medians[0]};
}

void print_convolution(const Shape& s, const char* part, Windows windows,
                       const std::vector<TensorType>& types) {
  Call call("conv", std::move(windows), {types[0], types[1]}, {types[2]});
  const Rates rates = s.dtype == DType::kF32 ? measure<float>(call) : measure<double>(call);
  fmt::print("{:<18} {:<8} {:>9.3f} {:>9.1f} {:>9.1f} {:>6.2f} {:>7.1f}\n", s.name, part, rates.seconds * 1e3,
             rates.own, rates.product, rates.own / rates.product,
             1e-9 * static_cast<double>(call.bytes()) / rates.seconds);
}

void print_convolutions(const Shape& s) {
  const Window h = window_of("h", s), w = window_of("w", s);
  const Dim b{"b", s.batch}, c{"c", s.in}, o = s.depthwise ? c : Dim{"o", s.out};
  const TensorType x{s.dtype, {b, h.dim, w.dim, c}}, y{s.dtype, {b, h.to, w.to, o}};
  TensorType filter{s.dtype, {h.taps, w.taps, c}};
  if (!s.depthwise) filter.dims.push_back(o);
  print_convolution(s, "forward", {h, w}, {x, filter, y});
  print_convolution(s, "dx", {transposed(h), transposed(w)}, {y, filter, x});
  print_convolution(s, "dw", {of_taps(h), of_taps(w)}, {x, y, filter});
}

void print_pools() {
  const Shape s{"3x3 stride 2", 8, 112, 64, 64, 3, 2};
  const Window h = window_of("h", s), w = window_of("w", s);
  const Dim b{"b", s.batch}, c{"c", s.in};
  const TensorType x{DType::kF32, {b, h.dim, w.dim, c}}, y{DType::kF32, {b, h.to, w.to, c}};
  const TensorType taps{DType::kI32, y.dims};
  std::vector<std::pair<const char*, Call>> calls;
  calls.emplace_back("sum_pool", Call("sum_pool", {h, w}, {x}, {y}));
  calls.emplace_back("argmax_pool", Call("argmax_pool", {h, w}, {x}, {y, taps}));
  calls.emplace_back("pick_pool", Call("pick_pool", {h, w}, {x, taps}, {y}));
  calls.emplace_back("spread_pool", Call("spread_pool", {h, w}, {y, taps}, {x}));
  for (auto& [name, call] : calls) {
    const Rates rates = measure<float>(call);
    fmt::print("{:<18} {:<8} {:>9.3f} {:>9.1f} {:>9.1f} {:>6.2f} {:>7.1f}\n", name, "", rates.seconds * 1e3,
               rates.own, rates.product, rates.own / rates.product,
               1e-9 * static_cast<double>(call.bytes()) / rates.seconds);
  }
}

}  // namespace

int main(int count, char** arguments) {
  std::vector<int> threads;
  for (int i = 1; i < count; ++i) threads.push_back(std::max(1, std::atoi(arguments[i])));
  if (threads.empty()) threads = {1};
  for (const int number : threads) {
    set_threads(number);
    fmt::print("{:<18} {:<8} {:>9} {:>9} {:>9} {:>6} {:>7}   {} threads\n", "operation", "part", "ms",
               "Gflop/s", "product", "share", "GB/s", number);
    for (const Shape& shape : kShapes) print_convolutions(shape);
    print_pools();
  }
}
