#include "core/op_rules/windows.h"

#include <fmt/format.h>

#include <limits>

#include "core/op_rules/example.h"
#include "core/op_rules/family.h"

namespace mtfc {
namespace {

constexpr const char* kWindows = "windows";

[[noreturn]] void refuse(const std::string& message, const std::string& hint = "") {
  throw OpError{message, hint, -1, kWindows};
}

void require_places(const Window& window) {
  const int64_t places = window_places(window);
  if (places == window.to.size) return;
  const std::string given = to_string(window);
  if (places < 1)
    refuse(fmt::format(
               "the window along '{}' does not fit: it spans {} elements, but there are {} with padding ({})",
               window.dim.name, window.span(), window.padded_size(), given),
           "use fewer taps or more padding");
  refuse(fmt::format("the window along '{}' takes {} places ({}), but '{}' has {} elements", window.dim.name,
                     places, given, window.to.name, window.to.size),
         fmt::format("make '{}' a dimension of size {}, or change the padding", window.to.name, places));
}

}  // namespace

const Windows& windows_of(const Attributes& attributes) {
  return attributes.get<Windows>(kWindows);
}

int64_t taps_of(const Windows& windows) {
  int64_t taps = 1;
  for (const Window& window : windows) taps *= window.taps.size;
  return taps;
}

const Window* window_along(const Windows& windows, std::string_view name) {
  for (const Window& window : windows)
    if (window.dim.name == name) return &window;
  return nullptr;
}

void require_windows(const TensorType& x, const Windows& windows) {
  if (windows.empty()) refuse("needs at least one window in 'windows'");
  Dims seen;
  for (const Window& window : windows) {
    require_known({window.dim}, x.dims, to_string(x), kWindows);
    seen.push_back(window.dim);
    if (!is_countable(window)) refuse(fmt::format("the window along '{}' is too large", window.dim.name));
    require_places(window);
  }
  require_distinct(seen, kWindows);
}

void require_pool_windows(const TensorType& x, const Windows& windows) {
  require_windows(x, windows);
  double taps = 1, all = 1;
  for (const Window& window : windows) taps *= static_cast<double>(window.taps.size);
  for (const Dim& dim : slid_dims(x.dims, windows)) all *= static_cast<double>(dim.size);
  if (taps > std::numeric_limits<int32_t>::max()) refuse("the windows have more than 2^31 - 1 taps together");
  if (taps * all > 0x1p60) refuse("the windows read more elements than can be counted, 2^60");
}

Dims slid_dims(const Dims& dims, const Windows& windows) {
  Dims slid;
  for (const Dim& dim : dims) {
    const Window* window = window_along(windows, dim.name);
    const Dim& own = window ? window->to : dim;
    if (contains(slid, own.name))
      refuse(fmt::format("the result would have the dimension '{}' twice", own.name),
             "let 'to' name a dimension that the operand lacks");
    slid.push_back(own);
  }
  return slid;
}

Factor place_factor(const Window& window, const OpCall& call, std::span<const TensorType> results,
                    std::vector<int> operands) {
  Factor factor{Factor::Kind::kPass, std::vector<int>(call.operands.size(), -1), {}};
  for (const int operand : operands)
    factor.operands[static_cast<size_t>(operand)] =
        position(call.operands[static_cast<size_t>(operand)].dims, window.to.name);
  for (const TensorType& result : results) factor.results.push_back(position(result.dims, window.to.name));
  const auto at = static_cast<size_t>(position(call.operands[0].dims, window.dim.name));
  factor.windows = {{0, {at, window.to.size, window.stride, window.low, window.span(), window.base}}};
  return factor;
}

OpDef pooling(FamilyMember member) {
  member.attributes = {kPoolWindows};
  if (member.max_operands > 1) member.own_dtypes = {{1, DType::kI32}};
  member.traits = {.in_f32 = true};
  return family_member(Family::kPooling, std::move(member));
}

std::vector<TensorType> infer_pool(const OpCall& call) {
  require_numbers({call.attributes, call.operands.first(1)});
  const TensorType& x = call.operands[0];
  const Windows& windows = windows_of(call.attributes);
  require_pool_windows(x, windows);
  return {{x.dtype, slid_dims(x.dims, windows)}};
}

std::vector<Factor> pool_factors(const OpCall& call, std::span<const TensorType> results) {
  const Windows& windows = windows_of(call.attributes);
  const std::vector<int> alike = call.operands.size() > 1 ? std::vector{1} : std::vector<int>{};
  std::vector<Factor> factors;
  for (const Dim& dim : call.operands[0].dims) {
    const Window* window = window_along(windows, dim.name);
    factors.push_back(window ? place_factor(*window, call, results, alike)
                             : factor(dim.name, Factor::Kind::kPass, call, results));
  }
  return factors;
}

int64_t pool_flops(const LocalCall& call, std::span<const LocalType> results) {
  return elements(results[0].dims) * taps_of(windows_of(call.attributes));
}

void require_tap_indices(const TensorType& taps, const Dims& dims, int at) {
  if (taps.dtype == DType::kI32 && same_set(taps.dims, dims)) return;
  throw OpError{fmt::format("the indices of taps are {}, but must be {}", to_string(taps),
                            to_string(TensorType{DType::kI32, dims})),
                "use those of argmax_pool", at};
}

Window sliding(std::string_view dim, std::string_view taps, std::string_view to) {
  return {dim_of(dim), dim_of(taps), dim_of(to)};
}

Window sliding(std::string_view dim, int64_t taps, std::string_view to) {
  return {dim_of(dim), {"", taps}, dim_of(to)};
}

Window padded(Window window, int64_t low, int64_t high, int64_t stride) {
  window.low = low;
  window.high = high;
  window.stride = stride;
  return window;
}

Window dilated(Window window, int64_t base, int64_t dilation) {
  window.base = base;
  window.dilation = dilation;
  return window;
}

std::vector<Example> pool_examples(ExampleOperand (*operand)(std::string_view dims, DType dtype)) {
  const auto use = [&](std::string_view dims, DType dtype, Windows windows) {
    return Example{{operand(dims, dtype)}, {{"windows", std::move(windows)}}};
  };
  const Window h = padded(sliding("h=5", 3, "y=3"), 1, 1, 2), w = sliding("w=7", 2, "x=6");
  return {
      use("b=2 h=5 w=7 c=3", DType::kF64, {h, w}),
      use("b=2 h=5 w=7 c=3", DType::kF32, {h, w}),
      use("c=3 w=7 h=5", DType::kF64, {h, w}),
      // Gaps between windows, and between taps.
      use("h=11", DType::kF64, {dilated(padded(sliding("h=11", 2, "y=3"), 1, 0, 4), 1, 2)}),
      // Spread elements, and some that are left out.
      use("b=2 h=5", DType::kF64, {dilated(padded(sliding("h=5", 3, "y=7"), -1, 1), 2, 1)}),
      use("h=7 c=2", DType::kI32, {padded(sliding("h=7", 3, "h=7"), 1, 1)}),
  };
}

std::vector<Example> picking_examples() {
  std::vector<Example> examples;
  for (Example& pool : pool_examples(normal)) {
    const TensorType& x = pool.operands[0].type;
    if (!is_float(x.dtype)) continue;
    const Windows& windows = windows_of(pool.attributes);
    pool.operands.push_back({{DType::kI32, slid_dims(x.dims, windows)}, Fill::kIndex, taps_of(windows)});
    examples.push_back(std::move(pool));
  }
  return examples;
}

std::vector<Example> spreading_examples() {
  std::vector<Example> examples = picking_examples();
  for (Example& example : examples) example.operands[0].type.dims = example.operands[1].type.dims;
  return examples;
}

}  // namespace mtfc
