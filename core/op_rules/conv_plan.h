#pragma once
// The cost model and the kernel of a convolution must agree on the classes of its dimensions, on its flops, and on its
// workspace. All of these are pure functions of local shapes.
//
// A dimension that no window is along belongs to one of four classes, by the tensors that have it:
//
//   group        x, w and the result      each position is a convolution of its own
//   batch        x and the result         rows of a matrix product
//   out          w and the result         its columns
//   contracted   x and w
//
// Example: x[b, h, w, c] with w[kh, kw, c, o] -> [b, ho, wo, o] has the batch b, the contracted c, and the out o. A
// depthwise convolution, with w[kh, kw, c] -> [b, ho, wo, c], has the group c. In the gradient of a filter, c is the
// batch and b is contracted.

#include <cstdint>
#include <span>
#include <string_view>

#include "core/graph/attributes.h"
#include "core/tensors/shape.h"

namespace mtfc {

/// The names of the dimensions of each class; `x`, `w` and `result` are the local sizes.
struct ConvDims {
  LocalDims group, batch;     // in the order of x
  LocalDims out, contracted;  // in the order of w
  bool operator==(const ConvDims&) const = default;
};

/// A name may belong to a window in one tensor and to another dimension, or another window, in a second one.
ConvDims conv_dims(const Windows& windows, const LocalDims& x, const LocalDims& w, const LocalDims& result);

/// The product of the sizes of the filter's taps on this device.
int64_t local_taps(const Windows& windows, const LocalDims& w);

/// A convolution as `groups` matrix products a[m, k] * b[k, n], which is what its kernel computes.
struct ConvSizes {
  int64_t groups = 1;
  int64_t m = 1;  // the batch times the places
  int64_t n = 1;  // the columns of the filter
  int64_t k = 1;  // the contracted elements times the taps that a place meets
};
ConvSizes conv_sizes(const Attributes& attributes, std::span<const LocalType> operands,
                     const LocalType& result);

/// Two for each product of an element of x and one of the filter. With a base dilation, a place meets only every n-th
/// of its taps; padding counts like elements.
int64_t conv_flops(const Attributes& attributes, std::span<const LocalType> operands,
                   const LocalType& result);

/// Bytes of memory that the kernel needs beside operands and result: a copy of a part of the filter, or partial sums of
/// a small result. It grows with the shapes, up to a bound.
int64_t conv_workspace(const Attributes& attributes, std::span<const LocalType> operands,
                       const LocalType& result);

/// As much of the filter as is copied at a time, side by side for vectors, has at most so many bytes.
inline constexpr int64_t kConvPanelBytes = 4 << 20;
/// A vector may be longer than a row of the filter, by this factor at most.
inline constexpr int64_t kConvPadding = 16;
/// The sums of a result that is too small to be shared by threads are cut into at most so many parts. The parts
/// together have at most so many bytes.
inline constexpr int64_t kConvParts = 16;
inline constexpr int64_t kConvPartBytes = 8 << 20;

}  // namespace mtfc
