#include "core/op_rules/example.h"
#include "core/op_rules/family.h"
#include "core/op_rules/windows.h"

namespace mtfc::spread_pool_op {
namespace {

// The windows of the pool that the taps are of: they slide along a dimension of the result.
Dims spread_dims(const Dims& dims, const Windows& windows) {
  Dims spread = dims;
  for (const Window& window : windows) {
    const int at = position(spread, window.to.name);
    if (at < 0)
      throw OpError{"the first operand lacks the dimension '" + window.to.name + "'", "", 0, "windows"};
    spread[static_cast<size_t>(at)] = window.dim;
  }
  return spread;
}

std::vector<TensorType> infer(const OpCall& call) {
  const TensorType &x = call.operands[0], &taps = call.operands[1];
  const Windows& windows = windows_of(call.attributes);
  const TensorType result{x.dtype, spread_dims(x.dims, windows)};
  require_distinct(result.dims, "windows");
  require_numbers({call.attributes, call.operands.first(1)});
  require_pool_windows(result, windows);
  require_tap_indices(taps, x.dims, 1);
  return {result};
}

// An element of the result reads the places whose windows reach it.
std::vector<Factor> roles(const OpCall& call, std::span<const TensorType> results) {
  const Windows& windows = windows_of(call.attributes);
  std::vector<Factor> factors;
  for (const Dim& dim : results[0].dims) {
    const Window* window = window_along(windows, dim.name);
    if (!window) {
      factors.push_back(factor(dim.name, Factor::Kind::kPass, call, results));
      continue;
    }
    Factor read{Factor::Kind::kPass, {-1, -1}, {position(results[0].dims, dim.name)}};
    const Window back = transposed(*window);
    for (const int operand : {0, 1}) {
      const auto at =
          static_cast<size_t>(position(call.operands[static_cast<size_t>(operand)].dims, window->to.name));
      read.windows.push_back({operand, {at, back.to.size, back.stride, back.low, back.span(), back.base}});
    }
    factors.push_back(std::move(read));
  }
  return factors;
}

std::vector<TensorId> gradient(GraphBuilder& b, const Node& node, std::span<const TensorId> gradients) {
  if (!is_float(b.type(node.operands[0]).dtype)) return {kNoTensor, kNoTensor};
  const Dims dims = b.dims(node.operands[0]);
  const TensorId picked =
      b.op("pick_pool", {gradients[0], node.operands[1]}, {{"windows", windows_of(node.attributes)}});
  return {spread_to(b, picked, dims), kNoTensor};
}

}  // namespace

extern const OpDef kOp = pooling({
    .name = "spread_pool",
    .doc = "The transpose of pick_pool: adds each element of the first operand to the element that its tap, "
           "in the second operand, reads. 'windows' are those of the pool, whose operand has the result's "
           "dimensions.",
    .min_operands = 2,
    .max_operands = 2,
    .infer = infer,
    .examples = spreading_examples(),
    .worked = {worked({known("y=3", {10, 20, 30}), known("y=3", {2, 0, -1}, DType::kI32)},
                      {{"windows", Windows{padded(sliding("h=5", 3, "y=3"), 1, 1, 2)}}}, {{0, 30, 0, 0, 0}})},
    .roles = roles,
    .linear_in = {{0}},
    .gradient = gradient,
    .flops = pool_flops,
});

}  // namespace mtfc::spread_pool_op
