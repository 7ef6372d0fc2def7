#include "core/tensors/mesh.h"

#include <fmt/format.h>

#include <algorithm>

namespace mtfc {

bool contains(const AxisList& axes, int axis) {
  return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

Mesh::Mesh(std::vector<Axis> axes, std::vector<int64_t> device_order)
    : axes_(std::move(axes)), ranks_(std::move(device_order)) {
  if (std::is_sorted(ranks_.begin(), ranks_.end())) ranks_.clear();
  positions_.resize(ranks_.size());
  for (size_t position = 0; position < ranks_.size(); ++position)
    positions_[static_cast<size_t>(ranks_[position])] = static_cast<int64_t>(position);
}

int64_t Mesh::devices() const {
  int64_t count = 1;
  for (const Axis& axis : axes_) count *= axis.size;
  return count;
}

int Mesh::find(std::string_view name) const {
  for (size_t i = 0; i < axes_.size(); ++i)
    if (axes_[i].name == name) return static_cast<int>(i);
  return -1;
}

int64_t Mesh::size(const AxisList& list) const {
  int64_t product = 1;
  for (const int axis : list) product *= size(axis);
  return product;
}

Coordinates Mesh::coordinates(int64_t rank) const {
  Coordinates at(axes_.size());
  if (!positions_.empty()) rank = positions_[static_cast<size_t>(rank)];
  for (size_t i = axes_.size(); i-- > 0;) {
    at[i] = rank % axes_[i].size;
    rank /= axes_[i].size;
  }
  return at;
}

int64_t Mesh::rank(const Coordinates& at) const {
  int64_t rank = 0;
  for (size_t i = 0; i < axes_.size(); ++i) rank = rank * axes_[i].size + at[i];
  return ranks_.empty() ? rank : ranks_[static_cast<size_t>(rank)];
}

Coordinates Mesh::last() const {
  Coordinates at;
  for (const Axis& axis : axes_) at.push_back(axis.size - 1);
  return at;
}

int64_t Mesh::index(const Coordinates& at, const AxisList& list) const {
  int64_t index = 0;
  for (const int axis : list) index = index * size(axis) + at[static_cast<size_t>(axis)];
  return index;
}

Coordinates Mesh::moved(Coordinates at, const AxisList& list, int64_t index) const {
  for (size_t i = list.size(); i-- > 0;) {
    at[static_cast<size_t>(list[i])] = index % size(list[i]);
    index /= size(list[i]);
  }
  return at;
}

std::string Mesh::names(const AxisList& list) const {
  std::string text;
  for (const int axis : list) text += (text.empty() ? "" : "+") + axes_[static_cast<size_t>(axis)].name;
  return text;
}

std::string to_string(const Mesh& mesh) {
  std::string text;
  for (const Axis& axis : mesh.axes())
    text += fmt::format("{}{}:{}", text.empty() ? "" : ",", axis.name, axis.size);
  return text;
}

}  // namespace mtfc
