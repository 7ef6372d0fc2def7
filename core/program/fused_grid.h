#pragma once
// Fused steps: one kernel works tile by tile through several members (element-wise operations, broadcasts and
// reductions), so that intermediate values never leave the cache.
//
// All members of a fused step work on one grid, the dimensions of its largest tensor. The grid's
// leading dimensions are the rows, the rest the columns. Each member gives a value for every element of the
// grid, for every row, for every column, or a single one.
//
//   softmax of x[batch, classes] over classes; a row is an example
//     m = reduce_max(x)    a value per row
//     d = sub(x, m)        per element
//     e = exp(d)           per element
//     s = reduce_sum(e)    per row
//     y = div(e, s)        per element
//
// A value per row may be used in the same step as soon as its row is complete. This makes the stages
// {m}, {d, e, s}, {y}. A reduction to columns or to a single value is complete only when the step ends.

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "core/program/program.h"

namespace mtfc {

enum class MemberKind {
  kElementwise,
  kBroadcast,  // the operand's elements, repeated
  kReduction,  // sums, … of one operand over some of its dimensions
  kConstant,
};
/// The kind of member that the kernel step could be in a fused step, or nothing.
std::optional<MemberKind> member_kind(const EntryPoint& entry, const Step& step);

struct GridMember {
  const Step* step = nullptr;
  std::optional<MemberKind> kind;  // member_kind() of the step
};

enum class Extent { kElement, kRow, kColumn, kSingle };

struct FusedGrid {
  Dims dims;               // global, rows first
  size_t row_dims = 0;     // how many of them are rows
  Sharding sharding;       // of the dimensions, in their order
  std::vector<int> order;  // of execution: by stage, and within a stage, members computed per row first
  std::vector<int> stage;  // of each member

  /// Derives a value's extent from the names of its dimensions, because values that stay within the step have no
  /// order of their own. Every value that a member makes or reduces has an extent. For an input of the step, the
  /// extent is valid only if lies_in_order() is true.
  Extent extent(const Dims& value) const;
  /// The dimensions of a value of that extent, in the order of the grid.
  Dims dims_of(Extent extent) const;
  /// True if a value's elements lie in the order of the grid, so that a tile of them can be read in place.
  bool lies_in_order(const Dims& value) const { return value == dims_of(extent(value)); }
};

/// True if all dimensions of `part` occur in `all`, in the same order.
bool in_order(const Dims& part, const Dims& all);

/// The grid on which `members` can form one fused step whose outputs are the values that fulfil `is_needed`;
/// nothing if they can't. Each member must come after those that it reads. The number of devices does not
/// matter.
std::optional<FusedGrid> find_grid(const EntryPoint& entry, std::span<const GridMember> members,
                                   const std::function<bool(ValueId)>& is_needed, const Mesh& mesh);
/// Returns whether there is one, which takes less time to find out.
bool have_grid(const EntryPoint& entry, std::span<const GridMember> members,
               const std::function<bool(ValueId)>& is_needed, const Mesh& mesh);
/// The grid of an existing fused step.
std::optional<FusedGrid> find_grid(const EntryPoint& entry, const Step& fused, const Mesh& mesh);

/// True if a fused step may write its output `result` over its input `operand`, which has the same type:
/// every member that reads the operand reads it in the order of the grid, and none comes after the member
/// that makes the result.
bool may_overwrite(const EntryPoint& entry, const Step& fused, ValueId operand, ValueId result);

}  // namespace mtfc
