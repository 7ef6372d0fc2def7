#include "core/tensors/sharding.h"

#include <algorithm>

#include "core/tensors/division.h"
#include "core/tensors/tensor_form.h"

namespace mtfc {

bool Sharding::is_partial(int axis) const {
  return std::any_of(partial.begin(), partial.end(), [&](const Partial& p) { return p.axis == axis; });
}

const WindowSplit* Sharding::window(size_t dim) const {
  for (const WindowSplit& split : windows)
    if (split.dim == dim) return &split;
  return nullptr;
}

Interval WindowSplit::region(int64_t n, const Interval& read_by) const {
  const int64_t begin = std::clamp<int64_t>(ceil_div(step * read_by.begin - low, base), 0, n);
  if (read_by.size() <= 0) return {begin, begin};
  const int64_t end = floor_div(step * (read_by.end - 1) - low + span - 1, base) + 1;
  return {begin, std::clamp(end, begin, n)};
}

Interval WindowSplit::readers(const Interval& held, int64_t parts) const {
  if (held.size() <= 0) return {0, 0};
  // The first index whose window does not end before `held`, and the last one that begins before its end.
  const int64_t first = std::max<int64_t>(0, ceil_div(base * held.begin + low - span + 1, step));
  const int64_t last = std::min(size - 1, floor_div(base * (held.end - 1) + low, step));
  if (first >= size || last < 0) return {0, 0};
  const int64_t begin = shard_of(size, parts, first);
  return {begin, std::max(begin, shard_of(size, parts, last) + 1)};
}

int64_t WindowSplit::largest_region(int64_t n, int64_t parts) const {
  const int64_t most = ceil_div(size, parts);
  return std::min(n, floor_div(step * (most - 1) + span - 1, base) + 1);
}

Sharding replicated(size_t count) {
  return {std::vector<AxisList>(count), {}};
}

AxisList split_axes(const Sharding& sharding) {
  AxisList axes;
  for (const AxisList& list : sharding.dims) axes.insert(axes.end(), list.begin(), list.end());
  std::sort(axes.begin(), axes.end());
  return axes;
}

AxisList splitting(const AxisList& axes, const Sharding& sharding) {
  AxisList kept = axes;
  std::erase_if(kept, [split = split_axes(sharding)](int axis) { return !contains(split, axis); });
  return kept;
}

AxisList partial_axes(const Sharding& sharding) {
  AxisList axes;
  for (const Partial& p : sharding.partial) axes.push_back(p.axis);
  return axes;
}

bool uses_axis_twice(const Sharding& sharding) {
  AxisList axes = split_axes(sharding);
  const AxisList partial = partial_axes(sharding);
  axes.insert(axes.end(), partial.begin(), partial.end());
  std::sort(axes.begin(), axes.end());
  return std::adjacent_find(axes.begin(), axes.end()) != axes.end();
}

int64_t elements(const Box& box) {
  int64_t count = 1;
  for (const Interval& interval : box) count *= interval.size();
  return count;
}

Box whole_box(const Dims& dims) {
  Box box;
  for (const Dim& dim : dims) box.push_back({0, dim.size});
  return box;
}

Interval shard_interval(int64_t size, int64_t parts, int64_t index) {
  // Computes floor(i*size/parts) without forming i*size, which may overflow.
  const auto cut = [&](int64_t i) { return i * (size / parts) + i * (size % parts) / parts; };
  return {cut(index), cut(index + 1)};
}

int64_t shard_of(int64_t size, int64_t parts, int64_t at) {
  // The first shard that ends behind the element. The product may overflow int64_t.
  const auto ends = static_cast<__int128>(at + 1) * parts;
  return static_cast<int64_t>((ends + size - 1) / size) - 1;
}

Box local_box(const Dims& dims, const Sharding& sharding, const Mesh& mesh, const Coordinates& at) {
  check_form(dims, sharding);
  Box box;
  box.reserve(dims.size());
  for (size_t i = 0; i < dims.size(); ++i) {
    const AxisList& axes = sharding.dims[i];
    const WindowSplit* window = sharding.window(i);
    const int64_t split = window ? window->size : dims[i].size;
    const Interval shard =
        axes.empty() ? Interval{0, split} : shard_interval(split, mesh.size(axes), mesh.index(at, axes));
    box.push_back(window ? window->region(dims[i].size, shard) : shard);
  }
  return box;
}

bool covers(const Dims& dims, const Sharding& held, const Sharding& wanted, const Mesh& mesh) {
  if (held.dims != wanted.dims || held.partial != wanted.partial || !wanted.windows.empty()) return false;
  for (const WindowSplit& window : held.windows) {
    const int64_t size = dims[window.dim].size, parts = mesh.size(held.dims[window.dim]);
    // Shards without elements need nothing, and there are no more others than elements.
    for (int64_t i = 0; i < std::min(size, parts); ++i) {
      const int64_t part = size < parts ? shard_of(size, parts, i) : i;
      const Interval shard = shard_interval(size, parts, part);
      const Interval region = window.region(size, shard_interval(window.size, parts, part));
      if (region.begin > shard.begin || region.end < shard.end) return false;
    }
  }
  return true;
}

LocalDims local_dims(const Dims& dims, const Box& box) {
  LocalDims local;
  local.reserve(dims.size());
  for (size_t i = 0; i < dims.size(); ++i) local.push_back({dims[i].name, box[i].size()});
  return local;
}

LocalDims local_dims(const Dims& dims, const Sharding& sharding, const Mesh& mesh, const Coordinates& at) {
  return local_dims(dims, local_box(dims, sharding, mesh, at));
}

LocalDims largest_dims(const Dims& dims, const Sharding& sharding, const Mesh& mesh) {
  LocalDims largest = local_dims(dims, sharding, mesh, mesh.last());
  for (const WindowSplit& window : sharding.windows)
    largest[window.dim].size =
        window.largest_region(dims[window.dim].size, mesh.size(sharding.dims[window.dim]));
  return largest;
}

int64_t largest_bytes(const TensorType& type, const Sharding& sharding, const Mesh& mesh) {
  return elements(largest_dims(type.dims, sharding, mesh)) * size_of(type.dtype);
}

std::string to_string(const Dims& dims, const Sharding& sharding, const Mesh& mesh) {
  check_form(dims, sharding);
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  for (size_t i = 0; i < dims.size(); ++i)
    add(dims[i].name + (sharding.dims[i].empty() ? "" : "/" + mesh.names(sharding.dims[i])) +
        (sharding.window(i) ? "~" : ""));
  for (const Partial& p : sharding.partial) add(to_string(p.kind) + " over " + mesh.names({p.axis}));
  return text;
}

}  // namespace mtfc
