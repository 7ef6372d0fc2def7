// Convolutions beside plain loops in f64, for random windows, classes and orders of dimensions, and regions.

#include <doctest/doctest.h>
#include <omp.h>

#include <algorithm>
#include <cmath>

#include "core/op_rules/conv_plan.h"
#include "runtime/testing/boxed_tensor.h"

namespace mtfc::convolution_test {
namespace {

struct Convolution {
  Windows windows;
  BoxedTensor x, w, y;

  Attributes attributes() const { return {{"windows", windows}}; }
  std::vector<LocalType> operands() const { return {x.tensor.local_type(), w.tensor.local_type()}; }
  int64_t workspace() const { return conv_workspace(attributes(), operands(), y.tensor.local_type()); }
};

/// A loop of the reference: one dimension of a class, or the places or taps of a window.
struct Loop {
  int64_t extent;
  int64_t x = 0, w = 0, y = 0;  // strides
  const Window* window = nullptr;
  bool is_tap = false;
};

std::vector<Loop> loops_of(const Convolution& c) {
  std::vector<Loop> loops;
  std::vector<std::string> of_x, of_w, of_y;
  for (const Window& window : c.windows) {
    loops.push_back({c.y.interval(window.to.name).size(), 0, 0, c.y.stride(window.to.name), &window});
    loops.push_back(
        {c.w.interval(window.taps.name).size(), 0, c.w.stride(window.taps.name), 0, &window, true});
    of_x.push_back(window.dim.name);
    of_w.push_back(window.taps.name);
    of_y.push_back(window.to.name);
  }
  const auto is_in = [](const BoxedTensor& tensor, const std::vector<std::string>& taken,
                        const std::string& name) {
    return contains(tensor.tensor.type.dims, name) &&
           std::find(taken.begin(), taken.end(), name) == taken.end();
  };
  std::vector<std::string> names;
  const auto add = [&](const BoxedTensor& tensor, const std::vector<std::string>& taken) {
    for (const Dim& dim : tensor.tensor.type.dims)
      if (is_in(tensor, taken, dim.name) && std::find(names.begin(), names.end(), dim.name) == names.end()) {
        names.push_back(dim.name);
        loops.push_back({tensor.interval(dim.name).size(),
                         is_in(c.x, of_x, dim.name) ? c.x.stride(dim.name) : 0,
                         is_in(c.w, of_w, dim.name) ? c.w.stride(dim.name) : 0,
                         is_in(c.y, of_y, dim.name) ? c.y.stride(dim.name) : 0});
      }
  };
  add(c.y, of_y);
  add(c.w, of_w);
  return loops;
}

/// The elements of the result, and the sums of the absolute values of what they are sums of.
struct Expected {
  std::vector<double> sums, sizes;
};

void add_products(const Convolution& c, const std::vector<Loop>& loops, std::vector<int64_t>& at,
                  Expected& to) {
  int64_t x = 0, w = 0, y = 0;
  for (size_t i = 0; i < loops.size(); ++i) {
    x += at[i] * loops[i].x;
    w += at[i] * loops[i].w;
    y += at[i] * loops[i].y;
    if (!loops[i].window || loops[i].is_tap) continue;
    const Window& window = *loops[i].window;
    const int64_t o = c.y.interval(window.to.name).begin + at[i];
    const int64_t k = c.w.interval(window.taps.name).begin + at[i + 1];
    const int64_t reached = window.stride * o + window.dilation * k - window.low;
    const Interval held = c.x.interval(window.dim.name);
    if (reached % window.base != 0) return;
    const int64_t index = reached / window.base;
    if (index < held.begin || index >= held.end) return;
    x += (index - held.begin) * c.x.stride(window.dim.name);
  }
  const double product = c.x.values[static_cast<size_t>(x)] * c.w.values[static_cast<size_t>(w)];
  to.sums[static_cast<size_t>(y)] += product;
  to.sizes[static_cast<size_t>(y)] += std::abs(product);
}

Expected expected(const Convolution& c) {
  const std::vector<Loop> loops = loops_of(c);
  Expected found{std::vector<double>(c.y.values.size()), std::vector<double>(c.y.values.size())};
  for (const Loop& loop : loops)
    if (loop.extent == 0) return found;
  std::vector<int64_t> at(loops.size(), 0);
  for (size_t i = 0; i < loops.size();) {
    add_products(c, loops, at, found);
    for (i = 0; i < loops.size() && ++at[i] == loops[i].extent; ++i) at[i] = 0;
  }
  return found;
}

int64_t products(const Convolution& c) {
  int64_t count = 1;
  for (const Loop& loop : loops_of(c)) count *= std::max<int64_t>(1, loop.extent);
  return count;
}

/// Runs the kernel with one thread and with two, and compares it with the reference.
void check(const Convolution& c) {
  const Expected plain = expected(c);
  omp_set_num_threads(1);
  const BoxedAnswer one = run_boxed(kernel_named("conv"), c.attributes(), {c.x, c.w}, {c.y}, c.workspace());
  omp_set_num_threads(2);
  const BoxedAnswer two = run_boxed(kernel_named("conv"), c.attributes(), {c.x, c.w}, {c.y}, c.workspace());
  CHECK(one.results == two.results);
  CHECK(one.flops == conv_flops(c.attributes(), c.operands(), c.y.tensor.local_type()));
  BoxedTensor y = c.y;
  y.read(one.results[0]);
  const double tolerance = y.tensor.type.dtype == DType::kF64 ? 1e-13 : 2e-6;
  double worst = 0;
  for (size_t i = 0; i < y.values.size(); ++i) {
    const double error = std::abs(y.values[i] - plain.sums[i]);
    worst = std::max(worst, std::isnan(error) ? HUGE_VAL : error / (plain.sizes[i] + 1));
  }
  CHECK(worst <= tolerance);
}

class Maker {
 public:
  explicit Maker(uint32_t seed) : random(seed) {}

  Window window(const std::string& number) {
    Window w;
    do {
      w = {.dim = {"x" + number, draw(random, 1, 12)},
           .taps = {"k" + number, draw(random, 1, 4)},
           .to = {"y" + number, 0},
           .stride = draw(random, 1, 4),
           .low = draw(random, -2, 4),
           .high = draw(random, -2, 4),
           .base = draw(random, 0, 1) ? 1 : draw(random, 1, 4),
           .dilation = draw(random, 1, 3)};
      w.to.size = window_places(w);
    } while (w.to.size <= 0);
    if (draw(random, 0, 3) == 0) w.to.name = w.dim.name;    // as in padding that keeps the size
    if (draw(random, 0, 3) == 0) w.taps.name = w.dim.name;  // as in gradients
    return w;
  }

  Dims some(const std::string& name) {
    Dims dims;
    for (int64_t i = 0, count = draw(random, 0, 2); i < count; ++i)
      dims.push_back({name + std::to_string(i), draw(random, 1, 5)});
    return dims;
  }

  BoxedTensor tensor(DType dtype, const std::vector<Dims>& parts) {
    Dims dims;
    Box box;
    for (const Dims& part : parts) dims.insert(dims.end(), part.begin(), part.end());
    if (draw(random, 0, 3) > 0) std::shuffle(dims.begin(), dims.end(), random);
    for (const Dim& dim : dims) box.push_back(interval(dim));
    BoxedTensor made(dtype, dims, box);
    made.fill_randomly(random);
    return made;
  }

  /// The tensors hold the same part of each dimension, unless it belongs to a window.
  Interval interval(const Dim& dim) {
    const bool shared = dim.name[0] != 'x' && dim.name[0] != 'y' && dim.name[0] != 'k';
    if (!shared) return draw_interval(random, dim.size);
    for (const auto& [name, known] : intervals_)
      if (name == dim.name) return known;
    intervals_.emplace_back(dim.name,
                            draw(random, 0, 1) ? Interval{0, dim.size} : draw_interval(random, dim.size));
    return intervals_.back().second;
  }

  Convolution convolution(DType dtype, int64_t dimensions) {
    intervals_.clear();
    Windows windows;
    Dims xs, ws, ys;
    for (int64_t i = 0; i < dimensions; ++i) {
      windows.push_back(window(std::to_string(i)));
      xs.push_back(windows.back().dim);
      ws.push_back(windows.back().taps);
      ys.push_back(windows.back().to);
    }
    const Dims group = some("g"), batch = some("b"), out = some("o"), contracted = some("c");
    return {windows, tensor(dtype, {batch, xs, group, contracted}),
            tensor(dtype, {ws, group, contracted, out}), tensor(dtype, {batch, ys, group, out})};
  }

  std::mt19937 random;

 private:
  std::vector<std::pair<std::string, Interval>> intervals_;
};

Convolution whole(DType dtype, const Windows& windows, const Dims& x, const Dims& w, const Dims& y) {
  Convolution c{windows, {dtype, x, whole_box(x)}, {dtype, w, whole_box(w)}, {dtype, y, whole_box(y)}};
  std::mt19937 random(7);
  c.x.fill_randomly(random);
  c.w.fill_randomly(random);
  return c;
}

struct Sizes {
  int64_t batch, size, in, out, taps, stride;
};

/// Two spatial dimensions with padding that keeps the size if the stride is 1.
Windows square_windows(const Sizes& s) {
  Windows windows;
  for (const std::string d : {"h", "w"}) {
    Window window{.dim = {d, s.size},
                  .taps = {"k" + d, s.taps},
                  .to = {"to_" + d, 0},
                  .stride = s.stride,
                  .low = s.taps / 2,
                  .high = s.taps / 2};
    window.to.size = window_places(window);
    windows.push_back(window);
  }
  return windows;
}

/// A forward convolution with channels last, and its gradients.
void check_all_three(DType dtype, const Sizes& s, bool depthwise) {
  const Windows windows = square_windows(s);
  const Dim b{"b", s.batch}, c{"c", s.in}, o = depthwise ? c : Dim{"o", s.out};
  const Dims x = {b, windows[0].dim, windows[1].dim, c}, y = {b, windows[0].to, windows[1].to, o};
  Dims w = {windows[0].taps, windows[1].taps, c};
  if (!depthwise) w.push_back(o);
  check(whole(dtype, windows, x, w, y));
  check(whole(dtype, {transposed(windows[0]), transposed(windows[1])}, y, w, x));
  check(whole(dtype, {of_taps(windows[0]), of_taps(windows[1])}, x, y, w));
}

TEST_CASE("random convolutions are what plain loops give") {
  Maker maker(1);
  for (int i = 0; i < 1500; ++i) {
    const Convolution c = maker.convolution(i % 2 ? DType::kF64 : DType::kF32, 1 + i % 3);
    if (products(c) > 40000) continue;
    CAPTURE(i);
    check(c);
  }
}

TEST_CASE("convolutions with channels last and their gradients") {
  for (const DType dtype : {DType::kF32, DType::kF64}) {
    check_all_three(dtype, {2, 14, 20, 37, 3, 1}, false);
    check_all_three(dtype, {2, 15, 3, 70, 7, 2}, false);
    check_all_three(dtype, {3, 9, 33, 16, 1, 1}, false);
    check_all_three(dtype, {1, 9, 34, 8, 3, 3}, false);
    check_all_three(dtype, {3, 17, 21, 0, 3, 1}, true);
    check_all_three(dtype, {2, 16, 80, 0, 3, 2}, true);
  }
}

TEST_CASE("long sums and runs are cut into blocks") {
  for (const DType dtype : {DType::kF32, DType::kF64}) {
    check_all_three(dtype, {1, 3, 1100, 5, 1, 1}, false);
    check_all_three(dtype, {1, 4, 260, 130, 3, 1}, false);
    check_all_three(dtype, {8, 24, 5, 7, 2, 1}, false);
  }
}

TEST_CASE("many small groups share a panel") {
  const Windows windows = square_windows({1, 7, 0, 0, 3, 1});
  const Dim g{"g", 40}, c{"c", 3}, o{"o", 5};
  for (const DType dtype : {DType::kF32, DType::kF64})
    check(whole(dtype, windows, {windows[0].dim, windows[1].dim, g, c},
                {g, windows[0].taps, windows[1].taps, c, o}, {windows[0].to, windows[1].to, g, o}));
}

TEST_CASE("the workspace does not decrease when shapes grow") {
  const Windows windows = square_windows({4, 32, 0, 0, 3, 1});
  int64_t before = 0;
  for (int64_t size = 1; size <= 4096; size *= 2) {
    const std::vector<LocalType> operands = {{DType::kF32, {{"b", 4}, {"h", 32}, {"w", 32}, {"c", size}}},
                                             {DType::kF32, {{"kh", 3}, {"kw", 3}, {"c", size}, {"o", size}}}};
    const int64_t bytes = conv_workspace({{"windows", windows}}, operands,
                                         {DType::kF32, {{"b", 4}, {"to_h", 32}, {"to_w", 32}, {"o", size}}});
    CHECK(bytes >= before);
    CHECK(bytes <= int64_t{8} << 20);
    before = bytes;
  }
}

TEST_CASE("flops count the taps that places meet") {
  // 12 places and 4 taps, 3 contracted elements, and base 2: each place meets 2 taps.
  const Windows windows = {
      {.dim = {"x", 6}, .taps = {"k", 4}, .to = {"y", 12}, .stride = 1, .low = 2, .base = 2}};
  const std::vector<LocalType> operands = {{DType::kF32, {{"x", 6}, {"c", 3}}},
                                           {DType::kF32, {{"k", 4}, {"c", 3}}}};
  CHECK(conv_flops({{"windows", windows}}, operands, {DType::kF32, {{"y", 12}}}) == 2 * 12 * 3 * 2);
}

}  // namespace
}  // namespace mtfc::convolution_test
