#pragma once
// The processor mesh: named axes, with a device at each position. A device's rank is its row-major position,
// unless a device order (GShard's device assignment) assigns ranks to positions, and thereby decides which
// ranks share an axis:
//
//   rows:2,cols:2            ranks 0 1    cols joins 0,1 and 2,3
//                                  2 3
//   device order 0,2,1,3     ranks 0 2    cols joins 0,2 and 1,3
//                                  1 3

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mtfc {

struct Axis {
  std::string name;
  int64_t size = 1;
  bool operator==(const Axis&) const = default;
};

/// Positions of axes in the mesh. A list of axes that split a dimension is in major-first order.
using AxisList = std::vector<int>;
bool contains(const AxisList& axes, int axis);
/// A device's position along every axis of the mesh.
using Coordinates = std::vector<int64_t>;

class Mesh {
 public:
  Mesh() = default;
  explicit Mesh(std::vector<Axis> axes) : axes_(std::move(axes)) {}
  /// `device_order` holds the rank at each position, in row-major order; every rank occurs once.
  Mesh(std::vector<Axis> axes, std::vector<int64_t> device_order);

  const std::vector<Axis>& axes() const { return axes_; }
  /// Empty if the order is 0, 1, 2, ...
  const std::vector<int64_t>& device_order() const { return ranks_; }
  int64_t devices() const;
  /// Index of the axis `name`, or -1.
  int find(std::string_view name) const;
  int64_t size(int axis) const { return axes_[static_cast<size_t>(axis)].size; }
  /// Product of the sizes of `list`.
  int64_t size(const AxisList& list) const;

  Coordinates coordinates(int64_t rank) const;
  int64_t rank(const Coordinates& at) const;
  /// The device that is last on every axis. Its shard of every tensor is the largest.
  Coordinates last() const;
  /// Row-major index of `at` over the axes of `list`, major first.
  int64_t index(const Coordinates& at, const AxisList& list) const;
  /// `at` with the coordinates along `list` replaced by those of row-major `index`.
  Coordinates moved(Coordinates at, const AxisList& list, int64_t index) const;

  /// `rows+cols`, in the order of the list.
  std::string names(const AxisList& list) const;
  bool operator==(const Mesh&) const = default;

 private:
  std::vector<Axis> axes_;
  // Rank by position, position by rank; empty if both are 0, 1, 2, ...
  std::vector<int64_t> ranks_, positions_;
};

/// `rows:2,cols:4`.
std::string to_string(const Mesh& mesh);

}  // namespace mtfc
