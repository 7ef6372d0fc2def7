#pragma once
// How one tensor is split over the mesh.
//
// Per dimension an ordered list of axes (major first), plus the axes over which the value is a partial result
// still to be reduced. An axis appears at most once. Shard i of P of a dimension of size n is
// [floor(i*n/P), floor((i+1)*n/P)): never padded, and nested, so that gathering the minor axis of a split
// gives exactly the coarser split. Example: n = 5 over rows:2,cols:2 is 1,1,1,2; gathered over cols it is
// 2,3.

#include <cstdint>
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

struct Sharding {
  std::vector<AxisList> dims;    // one list per dimension of the tensor
  std::vector<Partial> partial;  // ascending by axis
  bool operator==(const Sharding&) const = default;

  bool is_partial(int axis) const;
  /// The same split, with nothing partial.
  Sharding whole() const { return {dims, {}}; }
};

/// `count` dimensions, none of them split.
Sharding replicated(size_t count);
/// Every axis that splits a dimension, ascending.
AxisList split_axes(const Sharding& sharding);
AxisList partial_axes(const Sharding& sharding);
/// Whether some axis splits two dimensions, or splits one twice.
bool uses_axis_twice(const Sharding& sharding);

struct Interval {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t size() const { return end - begin; }
  bool operator==(const Interval&) const = default;
};
/// A rectangular region of a tensor: one interval per dimension.
using Box = std::vector<Interval>;
int64_t elements(const Box& box);

Interval shard_interval(int64_t size, int64_t parts, int64_t index);
/// What the device at `at` holds of a tensor.
Box local_box(const Dims& dims, const Sharding& sharding, const Mesh& mesh, const Coordinates& at);
/// The dimensions with their local extents at `at`.
Dims local_dims(const Dims& dims, const Sharding& sharding, const Mesh& mesh, const Coordinates& at);
/// Local extents on the device that is last on every axis: the largest of all.
Dims largest_dims(const Dims& dims, const Sharding& sharding, const Mesh& mesh);

/// `batch/rows+cols, hidden, sum over planes`: split dimensions with their axes.
std::string to_string(const Dims& dims, const Sharding& sharding, const Mesh& mesh);

}  // namespace mtfc
