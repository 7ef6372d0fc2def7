// Random operations with windows under random layouts, with their gradients, against plain loops on whole tensors
// (runtime/testing/window_reference.h).
//
// MTFC_CASES and MTFC_SEED choose how many cases and which (a tenth as many for gradients of gradients);
// scripts/fuzz_windows.sh runs many.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <random>

#include "core/compile/pipeline.h"
#include "core/graph/op_registry.h"
#include "core/op_rules/windows.h"
#include "core/testing/sanitized.h"
#include "core/testing/settings.h"
#include "runtime/testing/guarded_run.h"
#include "runtime/testing/window_reference.h"

namespace mtfc::window_test {
namespace {

constexpr int64_t kCases = kSanitized ? 60 : 200;
constexpr int64_t kSecondCases = kSanitized ? 25 : 80;
// Larger tensors are drawn again, so that plain loops take no longer than milliseconds.
constexpr int64_t kMostElements = 4000;
constexpr int64_t kMostProducts = 200'000;

class Draw {
 public:
  explicit Draw(uint64_t seed) : random_(seed) {}
  int64_t integer(int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random_);
  }
  bool with(double chance) { return std::uniform_real_distribution<double>()(random_) < chance; }
  WholeTensor tensor(const TensorType& type) { return drawn({type, Fill::kNormal, 0}, random_()); }
  template <typename T>
  void shuffle(std::vector<T>& list) {
    std::shuffle(list.begin(), list.end(), random_);
  }

 private:
  std::mt19937_64 random_;
};

Windows draw_windows(Draw& draw, bool is_filter) {
  Windows windows;
  const int64_t count = draw.integer(1, 3);
  for (int64_t i = 0; i < count; ++i) {
    Window window;
    do {
      window = {{fmt::format("h{}", i), draw.integer(1, count == 1 ? 40 : 12)},
                {is_filter ? fmt::format("k{}", i) : "", draw.integer(1, 7)},
                {fmt::format("y{}", i), 1},
                draw.integer(1, 4),
                draw.integer(-2, 6),
                draw.integer(-2, 6),
                draw.with(0.7) ? 1 : draw.integer(2, 4),
                draw.with(0.7) ? 1 : draw.integer(2, 4)};
      window.to.size = window_places(window);
    } while (window.to.size < 1 || window.to.size > 60);
    // The result may keep the name of a dimension whose size stays.
    if (window.to.size == window.dim.size && draw.with(0.5)) window.to = window.dim;
    windows.push_back(std::move(window));
  }
  return windows;
}

ConvTypes draw_conv(Draw& draw) {
  while (true) {
    ConvTypes types{draw_windows(draw, true), {}, {}, {}};
    const DType dtype = draw.with(0.5) ? DType::kF32 : DType::kF64;
    types.x.dtype = types.w.dtype = types.y.dtype = dtype;
    for (const Window& window : types.windows) {
      types.x.dims.push_back(window.dim);
      types.w.dims.push_back(window.taps);
      types.y.dims.push_back(window.to);
    }
    const auto add = [&](const char* name, std::vector<Dims*> tensors) {
      if (draw.with(0.4)) return;
      const Dim dim{name, draw.integer(1, 5)};
      for (Dims* dims : tensors) dims->push_back(dim);
    };
    add("b", {&types.x.dims, &types.y.dims});
    add("c", {&types.x.dims, &types.w.dims});
    add("o", {&types.w.dims, &types.y.dims});
    add("g", {&types.x.dims, &types.w.dims, &types.y.dims});
    for (Dims* dims : {&types.x.dims, &types.w.dims, &types.y.dims})
      if (draw.with(0.5)) draw.shuffle(*dims);
    const int64_t most = std::max({elements(types.x.dims), elements(types.w.dims), elements(types.y.dims)});
    if (most <= kMostElements && elements(types.y.dims) * elements(types.w.dims) <= kMostProducts)
      return types;
  }
}

PoolTypes draw_pool(Draw& draw) {
  while (true) {
    PoolTypes types{draw_windows(draw, false), {}, {}};
    types.x.dtype = types.y.dtype = draw.with(0.5) ? DType::kF32 : DType::kF64;
    for (const Window& window : types.windows) types.x.dims.push_back(window.dim);
    if (draw.with(0.5)) types.x.dims.insert(types.x.dims.begin(), {"b", draw.integer(1, 4)});
    if (draw.with(0.5)) types.x.dims.push_back({"c", draw.integer(1, 9)});
    types.y.dims = slid_dims(types.x.dims, types.windows);
    if (elements(types.x.dims) <= kMostElements && elements(types.y.dims) <= kMostElements &&
        elements(types.y.dims) * taps_of(types.windows) <= kMostProducts)
      return types;
  }
}

// A model under construction, with values for its inputs.
struct Case {
  GraphBuilder builder;
  Model model;
  WholeTensors inputs, expected;

  TensorId input(const std::string& name, const TensorType& type, Draw& draw) {
    builder.set_origin({name, {}, Phase::kForward});
    const TensorId id = builder.add_input(name, type);
    builder.mark_from_model(id);
    model.inputs.push_back({name, type, "", {}});
    model.dims = unite(model.dims, type.dims);
    inputs[name] = draw.tensor(type);
    return id;
  }
  void output(const std::string& name, TensorId id, WholeTensor value) {
    builder.mark_from_model(id);
    model.outputs.push_back({name, id});
    model.dims = unite(model.dims, builder.dims(id));
    expected[name] = std::move(value);
  }
  TensorId weighted(TensorId tensor, TensorId weight) {
    return builder.op("reduce_sum", {builder.op("mul", {tensor, weight})});
  }
  std::vector<TensorId> gradients(TensorId of, const std::vector<TensorId>& in,
                                  const std::vector<std::string>& names) {
    return builder.add_gradients(of, in, names);
  }
};

WholeTensor sum(WholeTensor a, const WholeTensor& b) {
  for (size_t i = 0; i < a.values.size(); ++i) a.values[i] += b.values[i];
  return a;
}

// y = conv(x, w), and the gradients of sum(g * y); with `second`, also those of sum(u * dx) + sum(v * dw).
void add_conv(Case& made, Draw& draw, bool second) {
  const ConvTypes types = draw_conv(draw);
  const TensorId x = made.input("x", types.x, draw), w = made.input("w", types.w, draw),
                 g = made.input("g", types.y, draw);
  made.builder.set_origin({"y", {}, Phase::kForward});
  const TensorId y = made.builder.add(op_named("conv"), {x, w},
                                      {{"windows", types.windows}, {"dims", types.y.dims}}, {"y"})[0];
  const WholeTensor &vx = made.inputs["x"], &vw = made.inputs["w"], &vg = made.inputs["g"];
  made.output("y", y, conv_reference(types, vx, vw));
  const std::vector<TensorId> first = made.gradients(made.weighted(y, g), {x, w}, {"dx", "dw"});
  made.output("dx", first[0], conv_operand_gradient(types, vg, vw));
  made.output("dw", first[1], conv_filter_gradient(types, vx, vg));
  if (!second) return;
  const TensorId u = made.input("u", types.x, draw), v = made.input("v", types.w, draw);
  made.builder.set_origin({"second", {}, Phase::kForward});
  const TensorId of = made.builder.op("add", {made.weighted(first[0], u), made.weighted(first[1], v)});
  const std::vector<TensorId> next = made.gradients(of, {x, w, g}, {"ddx", "ddw", "ddg"});
  const WholeTensor &vu = made.inputs["u"], &vv = made.inputs["v"];
  made.output("ddx", next[0], conv_operand_gradient(types, vg, vv));
  made.output("ddw", next[1], conv_filter_gradient(types, vu, vg));
  made.output("ddg", next[2], sum(conv_reference(types, vu, vw), conv_reference(types, vx, vv)));
}

// y = pool(x), and the gradient of sum(g * y); with `second`, also that of sum(u * dx) by g.
void add_pool(Case& made, Draw& draw, bool second) {
  const bool is_max = draw.with(0.6);
  const PoolTypes types = draw_pool(draw);
  const TensorId x = made.input("x", types.x, draw), g = made.input("g", types.y, draw);
  made.builder.set_origin({"y", {}, Phase::kForward});
  const TensorId y = made.builder.add(op_named(is_max ? "argmax_pool" : "sum_pool"), {x},
                                      {{"windows", types.windows}}, {"y"})[0];
  const WholeTensor &vx = made.inputs["x"], &vg = made.inputs["g"];
  made.output("y", y, is_max ? max_pool_reference(types, vx) : sum_pool_reference(types, vx));
  // Windows that read nothing give minus infinity, which the sum of products must not see.
  const TensorId finite =
      is_max ? made.builder.op("maximum", {y, made.builder.constant(-1e4, types.x.dtype)}) : y;
  const std::vector<TensorId> first = made.gradients(made.weighted(finite, g), {x}, {"dx"});
  made.output("dx", first[0], is_max ? max_pool_gradient(types, vx, vg) : sum_pool_gradient(types, vg));
  if (!second) return;
  const TensorId u = made.input("u", types.x, draw);
  made.builder.set_origin({"second", {}, Phase::kForward});
  const std::vector<TensorId> next = made.gradients(made.weighted(first[0], u), {g}, {"ddg"});
  const WholeTensor& vu = made.inputs["u"];
  WholeTensor expected = sum_pool_reference(types, vu);
  if (is_max)
    for (size_t o = 0; o < expected.values.size(); ++o) {
      WholeTensor one = made.inputs["g"];
      std::fill(one.values.begin(), one.values.end(), 0.0);
      one.values[o] = 1;
      const WholeTensor picked = max_pool_gradient(types, vx, one);
      expected.values[o] = 0;
      for (size_t i = 0; i < picked.values.size(); ++i) expected.values[o] += picked.values[i] * vu.values[i];
    }
  made.output("ddg", next[0], std::move(expected));
}

Layout draw_layout(Draw& draw, const Dims& dims) {
  static const std::vector<std::vector<int64_t>> kMeshes = {{2}, {3},    {4},    {5},    {7},
                                                            {8}, {2, 2}, {3, 2}, {2, 4}, {2, 2, 2}};
  std::vector<Axis> axes;
  for (const int64_t size :
       kMeshes[static_cast<size_t>(draw.integer(0, static_cast<int64_t>(kMeshes.size()) - 1))])
    axes.push_back({std::string(1, static_cast<char>('p' + axes.size())), size});
  Layout layout{Mesh(axes), {}};
  layout.propagate = draw.with(0.4);
  for (const Dim& dim : dims) {
    if (draw.with(0.45)) continue;
    AxisList list;
    for (size_t axis = 0; axis < axes.size(); ++axis)
      if (draw.with(0.5)) list.push_back(static_cast<int>(axis));
    draw.shuffle(list);
    if (!list.empty()) layout.rules.push_back({dim.name, list, {}});
  }
  return layout;
}

std::string problem_of(const Case& made, const Layout& layout) {
  try {
    std::string fault;
    const WholeTensors found = run_guarded(compile(made.model, layout, {}), made.inputs, fault);
    return fault.empty() ? difference(made.expected, found) : fault;
  } catch (const std::exception& error) {
    return error.what();
  }
}

// Draws layouts until one is legal.
void try_seed(uint64_t seed, bool second, int64_t& failed) {
  Draw draw(seed);
  Case made;
  if (draw.with(0.7))
    add_conv(made, draw, second);
  else
    add_pool(made, draw, second);
  made.model.name = "windows";
  made.model.graph = std::move(made.builder).build();
  Layout layout = draw_layout(draw, made.model.dims);
  for (int tries = 0; !is_legal(made.model, layout); ++tries) {
    if (tries == 100) layout.rules.clear();
    layout = tries >= 100 ? layout : draw_layout(draw, made.model.dims);
  }
  const std::string problem = problem_of(made, layout);
  if (problem.empty()) return;
  ++failed;
  FAIL_CHECK(fmt::format("seed {}{}: mesh {} layout {}: {}\n{}", seed, second ? ", second gradients" : "",
                         to_string(layout.mesh), to_string(layout), problem, to_string(made.model.graph)));
}

void try_seeds(int64_t cases, bool second) {
  const int64_t first = first_seed();
  int64_t failed = 0;
  for (int64_t i = 0; i < cases && failed < 3; ++i)
    try_seed(static_cast<uint64_t>(first + i), second, failed);
  MESSAGE(fmt::format("{} cases from seed {}", cases, first));
  CHECK(failed == 0);
}

TEST_CASE("random windows give what plain loops do under random layouts, and so do their gradients") {
  try_seeds(setting("MTFC_CASES", kCases), false);
}

TEST_CASE("random windows under random layouts: gradients of gradients") {
  try_seeds(std::max<int64_t>(1, setting("MTFC_CASES", 10 * kSecondCases) / 10), true);
}

}  // namespace
}  // namespace mtfc::window_test
