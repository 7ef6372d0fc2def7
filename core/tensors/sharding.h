#pragma once
// The sharding of one tensor: how it is split over the mesh.
//
// Each dimension has an ordered list of the axes that split it (major first). Besides, the value may be
// partial over some axes: still to be reduced. An axis appears at most once. Shard i of P of a dimension of
// size n is [floor(i*n/P), floor((i+1)*n/P)). Shards are never padded, and they nest: gathering the minor
// axis of a split gives exactly the coarser split. Example: n = 5 over rows:2,cols:2 has shards of 1, 1, 1
// and 2; gathered over cols, it has shards of 2 and 3.

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/diagnostics/enum_names.h"
#include "core/tensors/mesh.h"
#include "core/tensors/shape.h"

namespace mtfc {

enum class ReduceKind { kSum, kMax, kMin, kProd };
template <>
inline constexpr auto kEnumNames<ReduceKind> = std::to_array<EnumName<ReduceKind>>({{ReduceKind::kSum, "sum"},
                                                                                    {ReduceKind::kMax, "max"},
                                                                                    {ReduceKind::kMin, "min"},
                                                                                    {ReduceKind::kProd,
                                                                                     "prod"}});

struct Partial {
  int axis = 0;
  ReduceKind kind = ReduceKind::kSum;
  bool operator==(const Partial&) const = default;
  auto operator<=>(const Partial&) const = default;
};

struct Interval {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t size() const { return end - begin; }
  bool operator==(const Interval&) const = default;
};

/// A split of a dimension into regions that a window reads (core/tensors/window.h). The axes split another dimension,
/// `size` elements long, into shards: the places of the window, or its taps. Each device holds what its shard of that
/// dimension reads. These regions may overlap, leave gaps, and be empty. Index j reads the indices i for which
///
///   step*j - low <= base*i <= step*j - low + span - 1
///
/// Example: 9 elements, 3 taps, stride 2, padding 1, 5 places over x:3. The shards [0,1), [1,3) and [3,5) read [0,2),
/// [1,6) and [5,9). The shards of the dimension itself are [0,3), [3,6) and [6,9), so the second device lacks elements
/// 1 and 2, and the third one element 5.
struct WindowSplit {
  size_t dim = 0;    // position of the dimension in its tensor
  int64_t size = 1;  // of the dimension whose shards decide
  int64_t step = 1;
  int64_t low = 0;
  int64_t span = 1;
  int64_t base = 1;
  bool operator==(const WindowSplit&) const = default;

  /// All of these numbers, in this order: for keys and files.
  std::array<int64_t, 6> numbers() const { return {static_cast<int64_t>(dim), size, step, low, span, base}; }
  /// The indices of a dimension of `n` elements that the indices `read_by` of the other dimension read.
  Interval region(int64_t n, const Interval& read_by) const;
  /// The shards of the other dimension, out of `parts`, whose regions overlap `held`, gaps between windows included.
  /// They are consecutive.
  Interval readers(const Interval& held, int64_t parts) const;
  /// The size of the largest region of a dimension of `n` elements that one of `parts` shards can read.
  int64_t largest_region(int64_t n, int64_t parts) const;
};

struct Sharding {
  std::vector<AxisList> dims;    // one list per dimension of the tensor
  std::vector<Partial> partial;  // ascending by axis
  // Dimensions that are split by windows, ascending by dimension; their axes are in `dims`. Only operands of operations
  // with windows are held like this.
  std::vector<WindowSplit> windows = {};
  bool operator==(const Sharding&) const = default;

  bool is_partial(int axis) const;
  /// The same split with nothing partial.
  Sharding whole() const { return {dims, {}, windows}; }
  /// The window that splits the dimension at this position, or nullptr.
  const WindowSplit* window(size_t dim) const;
};

/// Shardings by the names of tensors.
using Shardings = std::map<std::string, Sharding, std::less<>>;

/// `count` dimensions, none of them split.
Sharding replicated(size_t count);
/// Every axis that splits a dimension, ascending.
AxisList split_axes(const Sharding& sharding);
/// The axes in `axes` that split a dimension, in their order. Devices that differ on another axis hold the same
/// elements, and take part in a move with those that share their coordinates on that axis.
AxisList splitting(const AxisList& axes, const Sharding& sharding);
AxisList partial_axes(const Sharding& sharding);
/// True if an axis occurs more than once among the splits and partial axes.
bool uses_axis_twice(const Sharding& sharding);

/// A rectangular region of a tensor: one interval per dimension.
using Box = std::vector<Interval>;
int64_t elements(const Box& box);
/// All of a tensor.
Box whole_box(const Dims& dims);

Interval shard_interval(int64_t size, int64_t parts, int64_t index);
/// The shard, of `parts`, that holds the element `at` of a dimension of this size.
int64_t shard_of(int64_t size, int64_t parts, int64_t at);
/// The region of a tensor that the device at `at` holds.
Box local_box(const Dims& dims, const Sharding& sharding, const Mesh& mesh, const Coordinates& at);
/// True if every device that holds a tensor as `held` holds what it would hold as `wanted`. The axes of both must be
/// the same, and no window splits `wanted`.
bool covers(const Dims& dims, const Sharding& held, const Sharding& wanted, const Mesh& mesh);
/// `dims` with the local sizes of a device that holds the region `box`.
LocalDims local_dims(const Dims& dims, const Box& box);
/// `dims` with the local sizes of the device at `at`.
LocalDims local_dims(const Dims& dims, const Sharding& sharding, const Mesh& mesh, const Coordinates& at);
/// `dims` with the local sizes of the device that is last on every axis, which are the largest; where windows split a
/// dimension, a bound on the size that depends on the sizes alone.
LocalDims largest_dims(const Dims& dims, const Sharding& sharding, const Mesh& mesh);
/// The bytes of the largest shard of a tensor.
int64_t largest_bytes(const TensorType& type, const Sharding& sharding, const Mesh& mesh);

/// `batch/rows+cols, hidden, sum over planes`: split dimensions with their axes, then what is partial. `h/rows~` is
/// split over rows by a window.
std::string to_string(const Dims& dims, const Sharding& sharding, const Mesh& mesh);

}  // namespace mtfc
