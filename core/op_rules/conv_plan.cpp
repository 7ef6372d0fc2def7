#include "core/op_rules/conv_plan.h"

#include <algorithm>
#include <numeric>

#include "core/op_rules/windows.h"

namespace mtfc {
namespace {

// A place meets one of so many taps.
int64_t sparseness(const Windows& windows) {
  int64_t product = 1;
  for (const Window& w : windows) product *= w.base / std::gcd(w.base, std::gcd(w.stride, w.dilation));
  return product;
}

}  // namespace

ConvDims conv_dims(const Windows& windows, const LocalDims& x, const LocalDims& w, const LocalDims& result) {
  const LocalDims of_x = without_windows(x, windows, &Window::dim);
  const LocalDims of_w = without_windows(w, windows, &Window::taps);
  const LocalDims of_result = without_windows(result, windows, &Window::to);
  ConvDims dims;
  for (const LocalDim& dim : of_x)
    if (contains(of_result, dim.name)) (contains(of_w, dim.name) ? dims.group : dims.batch).push_back(dim);
  for (const LocalDim& dim : of_w)
    if (!contains(of_result, dim.name))
      dims.contracted.push_back(dim);
    else if (!contains(of_x, dim.name))
      dims.out.push_back(dim);
  return dims;
}

int64_t local_taps(const Windows& windows, const LocalDims& w) {
  int64_t taps = 1;
  for (const Window& window : windows) {
    const int at = position(w, window.taps.name);
    taps *= at < 0 ? window.taps.size : w[static_cast<size_t>(at)].size;
  }
  return taps;
}

ConvSizes conv_sizes(const Attributes& attributes, std::span<const LocalType> operands,
                     const LocalType& result) {
  const Windows& windows = windows_of(attributes);
  const ConvDims dims = conv_dims(windows, operands[0].dims, operands[1].dims, result.dims);
  const int64_t taps = local_taps(windows, operands[1].dims), share = sparseness(windows);
  ConvSizes sizes{elements(dims.group), elements(dims.batch), elements(dims.out),
                  (elements(dims.contracted) * taps + share - 1) / share};
  for (const Window& window : windows)
    sizes.m *= result.dims[static_cast<size_t>(position(result.dims, window.to.name))].size;
  return sizes;
}

int64_t conv_flops(const Attributes& attributes, std::span<const LocalType> operands,
                   const LocalType& result) {
  const Windows& windows = windows_of(attributes);
  const ConvDims dims = conv_dims(windows, operands[0].dims, operands[1].dims, result.dims);
  const int64_t products =
      elements(result.dims) * elements(dims.contracted) * local_taps(windows, operands[1].dims);
  const int64_t share = sparseness(windows);
  return (2 * products + share - 1) / share;
}

int64_t conv_workspace(const Attributes&, std::span<const LocalType> operands, const LocalType& result) {
  const int64_t panel = std::min(kConvPanelBytes, kConvPadding * bytes(operands[1]));
  const int64_t parts = std::min(kConvPartBytes, kConvParts * bytes(result));
  return std::max(panel, parts);
}

}  // namespace mtfc
