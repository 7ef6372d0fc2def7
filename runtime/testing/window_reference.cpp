#include "runtime/testing/window_reference.h"

#include <functional>
#include <limits>
#include <map>

namespace mtfc {
namespace {

using Index = std::vector<int64_t>;

// Calls `f` with every index of the dimensions.
void each_index(const Dims& dims, const std::function<void(const Index&)>& f) {
  if (elements(dims) == 0) return;
  Index at(dims.size(), 0);
  while (true) {
    f(at);
    size_t d = dims.size();
    while (d > 0 && ++at[d - 1] == dims[d - 1].size) at[--d] = 0;
    if (d == 0) return;
  }
}

size_t offset(const Dims& dims, const Index& at) {
  int64_t offset = 0;
  for (size_t d = 0; d < dims.size(); ++d) offset = offset * dims[d].size + at[d];
  return static_cast<size_t>(offset);
}

const Window* along(const Windows& windows, const std::string& name, Dim Window::*which) {
  for (const Window& window : windows)
    if ((window.*which).name == name) return &window;
  return nullptr;
}

// The element that a place and a tap meet, or -1.
int64_t met(const Window& window, int64_t place, int64_t tap) {
  const int64_t at = window.stride * place + window.dilation * tap - window.low;
  if (at < 0 || at % window.base != 0 || at / window.base >= window.dim.size) return -1;
  return at / window.base;
}

WholeTensor zeros(const TensorType& type) {
  return {type, std::vector<double>(static_cast<size_t>(elements(type.dims)), 0.0)};
}

// Calls `f` with the offsets in x, w and y of all elements that meet.
void each_product(const ConvTypes& types, const std::function<void(size_t, size_t, size_t)>& f) {
  each_index(types.y.dims, [&](const Index& y) {
    each_index(types.w.dims, [&](const Index& w) {
      Index x(types.x.dims.size());
      for (size_t d = 0; d < w.size(); ++d) {
        const std::string& name = types.w.dims[d].name;
        if (along(types.windows, name, &Window::taps)) continue;
        const int in_y = position(types.y.dims, name);
        if (in_y >= 0 && y[static_cast<size_t>(in_y)] != w[d]) return;
      }
      for (size_t d = 0; d < x.size(); ++d) {
        const std::string& name = types.x.dims[d].name;
        const Window* window = along(types.windows, name, &Window::dim);
        const auto of = [](const Dims& dims, const Index& at, const std::string& dim) {
          return at[static_cast<size_t>(position(dims, dim))];
        };
        if (window)
          x[d] = met(*window, of(types.y.dims, y, window->to.name), of(types.w.dims, w, window->taps.name));
        else
          x[d] = contains(types.w.dims, name) ? of(types.w.dims, w, name) : of(types.y.dims, y, name);
        if (x[d] < 0) return;
      }
      f(offset(types.x.dims, x), offset(types.w.dims, w), offset(types.y.dims, y));
    });
  });
}

// Calls `f` with the offsets in x and y of all elements that meet, tap by tap.
void each_read(const PoolTypes& types, const std::function<void(size_t, size_t)>& f) {
  Dims taps;
  for (const Window& window : types.windows) taps.push_back({"", window.taps.size});
  each_index(types.y.dims, [&](const Index& y) {
    each_index(taps, [&](const Index& tap) {
      Index x = y;
      for (size_t d = 0; d < x.size(); ++d)
        for (size_t i = 0; i < types.windows.size(); ++i)
          if (types.windows[i].to.name == types.y.dims[d].name) {
            x[d] = met(types.windows[i], y[d], tap[i]);
            if (x[d] < 0) return;
          }
      f(offset(types.x.dims, x), offset(types.y.dims, y));
    });
  });
}

// For each place the element that is the first maximum; -1 for none.
std::vector<int64_t> maxima(const PoolTypes& types, const WholeTensor& x) {
  std::vector<int64_t> found(static_cast<size_t>(elements(types.y.dims)), -1);
  each_read(types, [&](size_t at, size_t place) {
    if (found[place] < 0 || x.values[at] > x.values[static_cast<size_t>(found[place])])
      found[place] = static_cast<int64_t>(at);
  });
  return found;
}

}  // namespace

WholeTensor conv_reference(const ConvTypes& types, const WholeTensor& x, const WholeTensor& w) {
  WholeTensor y = zeros(types.y);
  each_product(types, [&](size_t i, size_t k, size_t o) { y.values[o] += x.values[i] * w.values[k]; });
  return y;
}

WholeTensor conv_operand_gradient(const ConvTypes& types, const WholeTensor& dy, const WholeTensor& w) {
  WholeTensor dx = zeros(types.x);
  each_product(types, [&](size_t i, size_t k, size_t o) { dx.values[i] += dy.values[o] * w.values[k]; });
  return dx;
}

WholeTensor conv_filter_gradient(const ConvTypes& types, const WholeTensor& x, const WholeTensor& dy) {
  WholeTensor dw = zeros(types.w);
  each_product(types, [&](size_t i, size_t k, size_t o) { dw.values[k] += x.values[i] * dy.values[o]; });
  return dw;
}

WholeTensor sum_pool_reference(const PoolTypes& types, const WholeTensor& x) {
  WholeTensor y = zeros(types.y);
  each_read(types, [&](size_t i, size_t o) { y.values[o] += x.values[i]; });
  return y;
}

WholeTensor sum_pool_gradient(const PoolTypes& types, const WholeTensor& dy) {
  WholeTensor dx = zeros(types.x);
  each_read(types, [&](size_t i, size_t o) { dx.values[i] += dy.values[o]; });
  return dx;
}

WholeTensor max_pool_reference(const PoolTypes& types, const WholeTensor& x) {
  WholeTensor y = zeros(types.y);
  const std::vector<int64_t> from = maxima(types, x);
  for (size_t o = 0; o < from.size(); ++o)
    y.values[o] =
        from[o] < 0 ? -std::numeric_limits<double>::infinity() : x.values[static_cast<size_t>(from[o])];
  return y;
}

WholeTensor max_pool_gradient(const PoolTypes& types, const WholeTensor& x, const WholeTensor& dy) {
  WholeTensor dx = zeros(types.x);
  const std::vector<int64_t> from = maxima(types, x);
  for (size_t o = 0; o < from.size(); ++o)
    if (from[o] >= 0) dx.values[static_cast<size_t>(from[o])] += dy.values[o];
  return dx;
}

}  // namespace mtfc
