// Pools beside plain loops, for random windows, orders of dimensions, and regions.

#include "runtime/compute/pooling.h"

#include <doctest/doctest.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/op_rules/windows.h"
#include "runtime/testing/boxed_tensor.h"

namespace mtfc::sum_pool_kernel {
extern const KernelDef kKernel;
}
namespace mtfc::argmax_pool_kernel {
extern const KernelDef kKernel;
}
namespace mtfc::pick_pool_kernel {
extern const KernelDef kKernel;
}
namespace mtfc::spread_pool_kernel {
extern const KernelDef kKernel;
}

namespace mtfc::pooling_test {
namespace {

/// A pool of x to y. The taps have y's dimensions, in another order.
struct Pool {
  Windows windows;
  BoxedTensor x, y, taps;
};

/// Calls f(number of the tap, offset in x, offset in y, offset in taps) for each place and tap that meet an element of
/// x.
template <typename F>
void for_each_meeting(const Pool& p, F f) {
  const Dims& dims = p.y.tensor.type.dims;
  const int64_t places = p.y.tensor.elements(), all_taps = taps_of(p.windows);
  for (int64_t place = 0; place < places; ++place)
    for (int64_t tap = 0; tap < all_taps; ++tap) {
      int64_t left = place, in_x = 0, in_taps = 0;
      bool meets = true;
      for (size_t d = dims.size(); d-- > 0;) {
        const Interval held = p.y.tensor.box[d];
        const int64_t own = left % held.size();
        left /= held.size();
        in_taps += own * p.taps.stride(dims[d].name);
        int64_t digits = tap;
        const Window* window = nullptr;
        int64_t k = 0;
        for (size_t w = p.windows.size(); w-- > 0; digits /= p.windows[w].taps.size)
          if (p.windows[w].to.name == dims[d].name) window = &p.windows[w], k = digits % window->taps.size;
        if (!window) {
          in_x += own * p.x.stride(dims[d].name);
          continue;
        }
        const int64_t reached = window->stride * (held.begin + own) + window->dilation * k - window->low;
        const Interval of_x = p.x.interval(window->dim.name);
        meets = meets && reached % window->base == 0 && reached / window->base >= of_x.begin &&
                reached / window->base < of_x.end;
        if (meets) in_x += (reached / window->base - of_x.begin) * p.x.stride(window->dim.name);
      }
      if (meets) f(tap, static_cast<size_t>(in_x), static_cast<size_t>(place), static_cast<size_t>(in_taps));
    }
}

class Maker {
 public:
  explicit Maker(uint32_t seed) : random(seed) {}

  Window window(const std::string& number) {
    Window w;
    do {
      w = {.dim = {"x" + number, draw(random, 1, 12)},
           .taps = {"", draw(random, 1, 4)},
           .to = {"y" + number, 0},
           .stride = draw(random, 1, 4),
           .low = draw(random, -2, 4),
           .high = draw(random, -2, 4),
           .base = draw(random, 0, 2) ? 1 : draw(random, 2, 3),
           .dilation = draw(random, 1, 3)};
      w.to.size = window_places(w);
    } while (w.to.size <= 0);
    if (draw(random, 0, 3) == 0) w.to.name = w.dim.name;
    return w;
  }

  Pool pool(DType dtype, int64_t dimensions) {
    Windows windows;
    Dims of_x, of_y;
    Box box_x, box_y;
    for (int64_t i = 0; i < dimensions; ++i) {
      windows.push_back(window(std::to_string(i)));
      of_x.push_back(windows.back().dim);
      of_y.push_back(windows.back().to);
      box_x.push_back(draw_interval(random, of_x.back().size));
      box_y.push_back(draw_interval(random, of_y.back().size));
    }
    for (int64_t i = 0, count = draw(random, 0, 2); i < count; ++i) {
      const Dim dim{"b" + std::to_string(i), draw(random, 0, 3) ? draw(random, 1, 5) : draw(random, 10, 90)};
      const Interval interval = draw_interval(random, dim.size);
      of_x.push_back(dim), of_y.push_back(dim);
      box_x.push_back(interval), box_y.push_back(interval);
    }
    return {windows, tensor(dtype, of_x, box_x), tensor(dtype, of_y, box_y),
            tensor(DType::kI32, of_y, box_y)};
  }

  /// The dimensions often in another order.
  BoxedTensor tensor(DType dtype, const Dims& dims, const Box& box) {
    std::vector<size_t> order(dims.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    if (draw(random, 0, 1)) std::shuffle(order.begin(), order.end(), random);
    Dims shuffled;
    Box shuffled_box;
    for (const size_t i : order) shuffled.push_back(dims[i]), shuffled_box.push_back(box[i]);
    return {dtype, shuffled, shuffled_box};
  }

  std::mt19937 random;
};

/// Runs a kernel with one thread and with two, and reads its results.
std::vector<BoxedTensor> run(const KernelDef& kernel, const Pool& p, const std::vector<BoxedTensor>& operands,
                             std::vector<BoxedTensor> results, int64_t flops) {
  omp_set_num_threads(1);
  const BoxedAnswer one = run_boxed(kernel, {{"windows", p.windows}}, operands, results, 0);
  omp_set_num_threads(2);
  const BoxedAnswer two = run_boxed(kernel, {{"windows", p.windows}}, operands, results, 0);
  CHECK(one.results == two.results);
  CHECK(one.flops == flops);
  for (size_t i = 0; i < results.size(); ++i) results[i].read(one.results[i]);
  return results;
}

bool same(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

/// Small integers are added exactly, in f32 too.
void make_integers(BoxedTensor& tensor, std::mt19937& random) {
  for (double& value : tensor.values) value = static_cast<double>(draw(random, -9, 9));
}

void check_all(const std::vector<double>& found, const std::vector<double>& expected) {
  bool equal = found.size() == expected.size();
  for (size_t i = 0; equal && i < found.size(); ++i) equal = same(found[i], expected[i]);
  CHECK(equal);
}

double lowest(DType dtype) {
  if (dtype == DType::kI32) return std::numeric_limits<int32_t>::lowest();
  return is_float(dtype) ? -HUGE_VAL : static_cast<double>(std::numeric_limits<int64_t>::lowest());
}

void check_sum(Pool& p) {
  std::vector<double> expected(p.y.values.size(), 0);
  for_each_meeting(p, [&](int64_t, size_t x, size_t y, size_t) { expected[y] += p.x.values[x]; });
  check_all(
      run(sum_pool_kernel::kKernel, p, {p.x}, {p.y}, p.y.tensor.elements() * taps_of(p.windows))[0].values,
      expected);
}

/// Leaves the taps in p.
void check_argmax(Pool& p) {
  std::vector<double> largest(p.y.values.size(), lowest(p.x.tensor.type.dtype)), taps(p.y.values.size(), -1);
  for_each_meeting(p, [&](int64_t tap, size_t x, size_t y, size_t at) {
    const double value = p.x.values[x];
    if (taps[at] >= 0 && (std::isnan(largest[y]) || !(value > largest[y] || std::isnan(value)))) return;
    largest[y] = value;
    taps[at] = static_cast<double>(tap);
  });
  const std::vector<BoxedTensor> found =
      run(argmax_pool_kernel::kKernel, p, {p.x}, {p.y, p.taps}, p.y.tensor.elements() * taps_of(p.windows));
  check_all(found[0].values, largest);
  check_all(found[1].values, taps);
  p.taps.values = taps;
}

void check_pick_and_spread(Pool& p) {
  std::vector<double> picked(p.y.values.size(), 0), spread(p.x.values.size(), 0);
  for_each_meeting(p, [&](int64_t tap, size_t x, size_t y, size_t at) {
    if (p.taps.values[at] != static_cast<double>(tap)) return;
    picked[y] = p.x.values[x];
    spread[x] += p.y.values[y];
  });
  check_all(run(pick_pool_kernel::kKernel, p, {p.x, p.taps}, {p.y}, p.y.tensor.elements())[0].values, picked);
  check_all(
      run(spread_pool_kernel::kKernel, p, {p.y, p.taps}, {p.x}, p.x.tensor.elements() * taps_of(p.windows))[0]
          .values,
      spread);
}

TEST_CASE("random pools are what plain loops give") {
  Maker maker(3);
  const DType dtypes[] = {DType::kF32, DType::kF64, DType::kI32, DType::kI64};
  for (int i = 0; i < 1200; ++i) {
    Pool p = maker.pool(dtypes[i % 4], 1 + i / 4 % 3);
    if (p.y.tensor.elements() * taps_of(p.windows) > 40000) continue;
    CAPTURE(i);
    make_integers(p.x, maker.random);
    make_integers(p.y, maker.random);
    check_sum(p);
    if (is_float(p.x.tensor.type.dtype) && i % 3 == 0)
      for (double& value : p.x.values)
        if (draw(maker.random, 0, 9) == 0) value = draw(maker.random, 0, 1) ? -HUGE_VAL : std::nan("");
    check_argmax(p);
    for (double& tap : p.taps.values)  // also taps that meet padding
      if (draw(maker.random, 0, 2) == 0)
        tap = static_cast<double>(draw(maker.random, -1, taps_of(p.windows) - 1));
    make_integers(p.x, maker.random);
    check_pick_and_spread(p);
  }
}

/// Channels last, and large enough for two threads.
Pool large_pool(DType dtype, int64_t size, int64_t channels, int64_t taps, int64_t stride) {
  Windows windows;
  for (const std::string d : {"h", "w"}) {
    Window window{
        .dim = {d, size}, .taps = {"", taps}, .to = {"to_" + d, 0}, .stride = stride, .low = taps / 2};
    window.to.size = window_places(window);
    windows.push_back(window);
  }
  const Dims x = {{"b", 2}, windows[0].dim, windows[1].dim, {"c", channels}};
  const Dims y = {{"b", 2}, windows[0].to, windows[1].to, {"c", channels}};
  return {windows, {dtype, x, whole_box(x)}, {dtype, y, whole_box(y)}, {DType::kI32, y, whole_box(y)}};
}

TEST_CASE("large pools give the same bits with two threads") {
  std::mt19937 random(5);
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kI32, DType::kI64}) {
    for (Pool p : {large_pool(dtype, 21, 70, 3, 2), large_pool(dtype, 40, 300, 40, 40)}) {
      make_integers(p.x, random);
      make_integers(p.y, random);
      check_sum(p);
      check_argmax(p);
      check_pick_and_spread(p);
    }
  }
}

TEST_CASE("sums of integers wrap around") {
  Pool p = large_pool(DType::kI32, 4, 9, 2, 2);
  for (double& value : p.x.values) value = std::numeric_limits<int32_t>::max();
  const std::vector<BoxedTensor> found =
      run(sum_pool_kernel::kKernel, p, {p.x}, {p.y}, p.y.tensor.elements() * taps_of(p.windows));
  // The window at the place (1, 1) meets 4 elements: four times 2^31 - 1 is -4 modulo 2^32.
  CHECK(found[0].values[static_cast<size_t>(p.y.stride("to_h") + p.y.stride("to_w"))] == -4);
}

}  // namespace
}  // namespace mtfc::pooling_test
