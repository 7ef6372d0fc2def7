#pragma once
// Windows: the sliding of a filter, or of a pooling window, along one spatial dimension.
//
// Index o of the result and tap k of the window meet index i of the operand where
//
//   stride*o + dilation*k - low == base*i
//
// so everything else follows from these numbers: the size of the result, what a device needs of the operand, and
// the windows of the gradients. Padding may be negative, which crops the operand. In the literature `base` is the base
// (or input) dilation of a transposed convolution, and `dilation` the window (or kernel) dilation.
//
// Example: 5 elements, 3 taps, stride 2, padding 1 and 1: the result has 3 elements, from i in [-1,2), [1,4) and [3,6).

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/tensors/shape.h"

namespace mtfc {

/// One spatial dimension of an operation with windows.
struct Window {
  Dim dim;   // of the operand
  Dim taps;  // of the filter; without a name where no tensor has it, as in pooling
  Dim to;    // of the result
  int64_t stride = 1;
  int64_t low = 0;   // padding before the first element ...
  int64_t high = 0;  // ... and behind the last one
  int64_t base = 1;
  int64_t dilation = 1;
  bool operator==(const Window&) const = default;

  /// The number of elements from the first tap to the last one.
  int64_t span() const { return (taps.size - 1) * dilation + 1; }
  /// `dim` with its base dilation and padding.
  int64_t padded_size() const { return (dim.size - 1) * base + 1 + low + high; }
};
using Windows = std::vector<Window>;

/// A number of a window, as models and programs write it.
struct WindowNumber {
  const char* key;
  int64_t Window::*member;
  int64_t usual;  // where it is not stated
  int64_t least;  // that a model may state
  const char* doc;
};
std::span<const WindowNumber> window_numbers();

/// True if all positions that the window reaches can be counted in int64_t.
bool is_countable(const Window& window);
/// The number of places that the window takes; 0 or less if it does not fit into the padded dimension.
int64_t window_places(const Window& window);
/// Sets `high`, so that the window takes as many places as `to` has elements.
Window with_high(Window window);
/// The window of the gradient of the operand: it slides over the gradient of the result, with its taps in reverse
/// order.
Window transposed(const Window& window);
/// The window of the gradient of the filter: it slides over the operand, and its taps are the places of the result.
Window of_taps(const Window& window);

/// `h of 5, 3 taps, stride 2, padding 1 1`.
std::string to_string(const Window& window);

}  // namespace mtfc
