#include "core/tensors/window.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "core/tensors/division.h"

namespace mtfc {
namespace {

constexpr int64_t kMostPadding = int64_t{1} << 40;

}  // namespace

std::span<const WindowNumber> window_numbers() {
  static constexpr WindowNumber kNumbers[] = {
      {"stride", &Window::stride, 1, 1, "elements from one place of the window to the next"},
      {"low", &Window::low, 0, -kMostPadding,
       "padding before the first element; below 0, elements are left out"},
      {"high", &Window::high, 0, -kMostPadding, "padding behind the last element, likewise"},
      {"base", &Window::base, 1, 1,
       "base dilation: base-1 zeros between elements, as in a transposed convolution"},
      {"dilation", &Window::dilation, 1, 1, "elements from one tap of the window to the next"},
  };
  return kNumbers;
}

bool is_countable(const Window& window) {
  const auto real = [](int64_t number) { return static_cast<double>(number); };
  const double reach =
      real(window.dim.size) * real(window.base) + real(window.taps.size) * real(window.dilation) +
      real(window.to.size) * real(window.stride) + std::abs(real(window.low)) + std::abs(real(window.high));
  return reach <= 0x1p60;
}

int64_t window_places(const Window& window) {
  return floor_div(window.padded_size() - window.span(), window.stride) + 1;
}

Window with_high(Window window) {
  window.high = 0;
  window.high = (window.to.size - 1) * window.stride + window.span() - window.padded_size();
  return window;
}

Window transposed(const Window& window) {
  Window back = window;
  std::swap(back.dim, back.to);
  std::swap(back.stride, back.base);
  back.low = (window.taps.size - 1) * window.dilation - window.low;
  return with_high(back);
}

Window of_taps(const Window& window) {
  Window filter = window;
  std::swap(filter.taps, filter.to);
  std::swap(filter.stride, filter.dilation);
  return with_high(filter);
}

std::string to_string(const Window& window) {
  std::string text = fmt::format("{} of {}, {} taps", window.dim.name, window.dim.size, window.taps.size);
  if (window.stride != 1) text += fmt::format(", stride {}", window.stride);
  if (window.low != 0 || window.high != 0) text += fmt::format(", padding {} {}", window.low, window.high);
  if (window.base != 1) text += fmt::format(", base {}", window.base);
  if (window.dilation != 1) text += fmt::format(", dilation {}", window.dilation);
  return text;
}

}  // namespace mtfc
