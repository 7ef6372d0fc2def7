#pragma once
// A ring: a contraction of two operands over the devices of one or several axes, in as many turns as there are devices.
// It is the looped einsum of GShard (Lepikhin et al. 2020, figure 4c).
//
// One tensor *turns*. Each device begins with a slice of it, and in every turn passes one on to its neighbour. It takes
// the place of a collective that would put the whole tensor on every device, and sends as many bytes:
//
//   an operand, along a contracted dimension: results are added up     y[m, n] = x[m, k] * w[k/p, n]
//   an operand, along any other dimension: results lie side by side    y[m, n] = x[m, k] * w[k, n/p]
//   the result: each device adds its product to the sum that it gets   y[m, n/p] = sum over p of x[m, k/p] * w[k/p, n]
//
// With an operand turning, member r works on the slice of member (r + i) mod P in turn i. With the result turning, it
// is the slice of member (r + i + 1) mod P, so that each sum ends on the device that keeps it. Data always goes from
// member r + 1 to member r. Devices that add up results begin with different slices, so a result is added up only where
// no other member of the ring holds a copy of it, which would differ in the last bits. Slices of an uneven split differ
// in size; the program is the same for any number of devices.

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "core/op_rules/einsum_plan.h"
#include "core/program/collective_kinds.h"
#include "core/program/program.h"

namespace mtfc {

/// Boxes of the whole tensors that one turn of one device works on.
struct RingTurn {
  std::array<Box, 2> operands;
  Box result;
  Interval slice;  // along the dimension that turns
};

/// The scratch memory of a ring: slices on their way, and behind them the workspace of the product.
struct RingWorkspace {
  int64_t slice_bytes = 0;  // of the largest slice, aligned
  int64_t slices = 0;
  int64_t product_bytes = 0;

  int64_t product_offset() const { return slices * slice_bytes; }
  int64_t bytes() const { return product_offset() + product_bytes; }
};

/// The dimension along which a tensor of this sharding turns in a ring over `axes` (ascending): the only one whose
/// minor axes are these; nothing if there is none.
std::optional<size_t> turning_dim(const Sharding& sharding, const AxisList& axes);

/// The member whose slice the member `self` works on in a turn.
inline size_t slice_owner(size_t self, size_t turn, size_t members, bool passes_result) {
  return (self + turn + (passes_result ? 1 : 0)) % members;
}

/// The value that turns in a kRing step.
ValueId turning_value(const Step& step);

/// A kRing step, to be asked about. All references must outlive it.
class Ring {
 public:
  /// Throws InternalError if no dimension of the tensor turns.
  Ring(const EntryPoint& entry, const Step& step, const Mesh& mesh);

  const RunRing& action() const { return action_; }
  size_t members() const { return static_cast<size_t>(mesh_.size(action_.axes)); }
  /// The position of the device at `at` in its ring.
  size_t self(const Coordinates& at) const { return static_cast<size_t>(mesh_.index(at, action_.axes)); }
  /// The same for this ring.
  size_t slice_owner(size_t self, size_t turn) const {
    return mtfc::slice_owner(self, turn, members(), passes_result());
  }
  bool passes_result() const { return action_.turning == Turning::kResult; }
  /// True if the products of the turns are added up on each device.
  bool adds() const { return adds_; }
  /// True if members would add up copies of the same result, each in its own order.
  bool adds_copies() const;

  ValueId turning() const { return turning_; }
  /// The slice of the member `owner` of the ring in which the device at `at` is.
  Box slice(const Coordinates& at, size_t owner) const;
  RingTurn turn(const Coordinates& at, size_t owner) const;

  /// The shardings of operands and result if the product were computed at once: that of the turning tensor does not
  /// have the axes of the ring. A result that turns would be partial over them.
  std::vector<Sharding> operands_at_once() const;
  Sharding result_at_once() const;
  /// The flops of all turns of the device at `at`.
  int64_t flops(const Coordinates& at) const;

  /// The traffic of the busiest device. It sends as much as for an all_gather of the operand or a reduce_scatter of the
  /// result.
  CollectiveCost largest_cost() const;
  RingWorkspace workspace() const;
  /// The contraction of one turn, of tensors as they lie in memory on the device at `at`.
  std::array<EinsumTensor, 3> tensors(const Coordinates& at, size_t owner) const;
  /// True if a turn works on a box of the device's shard of the value with gaps between its rows: a dimension comes
  /// before the one that turns.
  bool has_gaps(ValueId id) const;

 private:
  Sharding at_once(ValueId id) const;
  Box narrowed(ValueId id, const Coordinates& at, const Interval& interval) const;

  const EntryPoint& entry_;
  const Step& step_;
  const Mesh& mesh_;
  const RunRing& action_;
  ValueId turning_;
  size_t dim_ = 0;  // of the tensor that turns
  bool adds_ = false;
};

}  // namespace mtfc
