#pragma once
// Fused steps: element-wise operations, broadcasts and reductions that one kernel works through tile by tile,
// so that what they hand to each other never leaves the cache.
//
// All parts of a fused step work on one grid, the dimensions of its largest tensor: its leading dimensions
// are the rows, the rest the columns. Each part gives a value for every element of the grid, for every row,
// for every column, or a single one.
//
//   softmax of x[batch, classes] over classes; a row is an example
//     m = reduce_max(x)    a value per row
//     d = sub(x, m)        per element
//     e = exp(d)           per element
//     s = reduce_sum(e)    per row
//     y = div(e, s)        per element
//
// A value per row may be used in the same step as soon as its row is complete, which makes stages: {m},
// {d, e, s}, {y}. A reduction to columns or to a single value is complete only when the step ends.

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "core/program/program.h"

namespace mtfc {

enum class PartKind {
  kElementwise,
  kBroadcast,  // the operand's elements, repeated
  kReduction,  // of one operand to some of its dimensions
  kConstant,
};
/// What the kernel step could be in a fused step, if anything.
std::optional<PartKind> part_kind(const EntryPoint& entry, const Step& step);

enum class Extent { kElement, kRow, kColumn, kSingle };

struct FusedGrid {
  Dims dims;               // global, rows first
  size_t row_dims = 0;     // how many of them are rows
  Sharding sharding;       // of the dimensions, in their order
  std::vector<int> order;  // of the parts' execution: stage by stage, in each what is per row first
  std::vector<int> stage;  // of each part

  /// The extent of a value by the names of its dimensions alone, since values that stay within the step have no
  /// order of their own. Every value that a part makes or reduces has one; for an input of the step it holds if
  /// lies_in_order().
  Extent extent(const Dims& value) const;
  /// The dimensions of a value of that extent, in the order of the grid.
  Dims dims_of(Extent extent) const;
  /// Whether a value's elements lie in the order of the grid, so that a tile of them can be read in place.
  bool lies_in_order(const Dims& value) const { return value == dims_of(extent(value)); }
};

/// The grid on which `parts` (each after those it reads) can be one step of which the values for which
/// `is_needed` come out; nothing where they can't. Does not depend on the number of devices.
std::optional<FusedGrid> find_grid(const EntryPoint& entry, std::span<const Step> parts,
                                   const std::function<bool(ValueId)>& is_needed, const Mesh& mesh);
/// Of a fused step.
std::optional<FusedGrid> find_grid(const EntryPoint& entry, const Step& fused, const Mesh& mesh);

/// Whether a fused step may write its output `result` over its input `operand`, which has the same type:
/// every part that reads the operand reads it in the order of the grid, and none after the part that makes
/// the result.
bool may_overwrite(const EntryPoint& entry, const Step& fused, ValueId operand, ValueId result);

}  // namespace mtfc
