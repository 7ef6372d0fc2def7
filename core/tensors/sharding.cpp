#include "core/tensors/sharding.h"

#include <algorithm>

namespace mtfc {

bool Sharding::is_partial(int axis) const {
  return std::any_of(partial.begin(), partial.end(), [&](const Partial& p) { return p.axis == axis; });
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

Box local_box(const Dims& dims, const Sharding& sharding, const Mesh& mesh, const Coordinates& at) {
  Box box;
  box.reserve(dims.size());
  for (size_t i = 0; i < dims.size(); ++i) {
    const AxisList& axes = sharding.dims[i];
    box.push_back(axes.empty() ? Interval{0, dims[i].size}
                               : shard_interval(dims[i].size, mesh.size(axes), mesh.index(at, axes)));
  }
  return box;
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
  return local_dims(dims, sharding, mesh, mesh.last());
}

int64_t largest_bytes(const TensorType& type, const Sharding& sharding, const Mesh& mesh) {
  return elements(largest_dims(type.dims, sharding, mesh)) * size_of(type.dtype);
}

std::string to_string(const Dims& dims, const Sharding& sharding, const Mesh& mesh) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  for (size_t i = 0; i < dims.size(); ++i)
    add(dims[i].name + (sharding.dims[i].empty() ? "" : "/" + mesh.names(sharding.dims[i])));
  for (const Partial& p : sharding.partial) add(to_string(p.kind) + " over " + mesh.names({p.axis}));
  return text;
}

}  // namespace mtfc
