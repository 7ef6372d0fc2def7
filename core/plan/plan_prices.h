#pragma once
// The prices by which the parts of a plan are compared: those of core/program/plan_figures.h, or predicted times on a
// piece of hardware.
//
// Times are those of kernels and collectives one after the other. Only a schedule shows how much of a collective
// kernels hide; here it is assumed that they hide the same share of all collectives for which nothing but the updates
// of weights waits, or which wait for nothing, as those of weights do. So plans that are chosen by times are compared
// as a whole (core/compile/pipeline.h).

#include <cstdint>
#include <vector>

#include "core/cost/hardware.h"
#include "core/graph/op_def.h"
#include "core/plan/cost_network.h"
#include "core/program/plan.h"
#include "core/program/plan_figures.h"
#include "core/program/reshard.h"
#include "core/tensors/mesh.h"
#include "core/tensors/shape.h"
#include "core/tensors/sharding.h"

namespace mtfc {

/// PlanCost counts in the shares of a byte that a flop costs (core/program/plan_figures.h), which keeps it whole; with
/// hardware, in the same shares of a nanosecond.
inline constexpr int64_t kCostPerByte = kPlanFlopsPerByte;

/// The hardware on which a plan is to be fast.
struct PlanHardware {
  PlanHardware() = default;
  PlanHardware(const Hardware* faster_on, const PlanWay& by)
      : hardware(by.by_seconds ? faster_on : nullptr), way(by) {}

  const Hardware* hardware = nullptr;  // nullptr: plans are compared by bytes and flops
  PlanWay way;
};

class PlanPrices {
 public:
  /// `mesh` and the hardware must outlive it.
  PlanPrices(const Mesh& mesh, const PlanHardware& hardware)
      : mesh_(mesh),
        hardware_(hardware.hardware),
        hidden_(hardware.way.hidden),
        departure_(hardware.way.keeps_rules ? kCostPerByte << 32 : 0),
        fused_(hardware_ ? hardware.way.fused : FusedMoves::kSlices) {}

  /// The ways in which an operation departs from rules, by rules.
  struct Departures {
    int64_t results = 0;   // split otherwise than rules say
    int64_t operands = 0;  // taken otherwise
    int64_t sums = 0;      // that pass through the operation
  };
  PlanCost of(const Departures& made) const {
    return {made.operands * departure_, 0, 0, made.results + made.sums, 0};
  }

  /// One use of an operation on the busiest device.
  PlanCost operation(const OpDef& op, const LocalCall& call, const std::vector<LocalType>& results) const;
  /// Moves between devices that send so many bytes by exchanges over the axes; none if there are no bytes to send.
  PlanCost exchange(int64_t bytes, const AxisList& axes) const;
  /// One reshard in the cheapest way; impossible if it would make whole values partial. `can_hide`: kernels can hide
  /// it.
  PlanCost reshard(const TensorType& type, const Sharding& from, const Sharding& to, bool can_hide) const;
  /// That way.
  ReshardWay way(const TensorType& type, const Sharding& from, const Sharding& to, bool can_hide) const;
  /// Returns whether devices send nothing for that reshard, which takes less time to find out.
  bool sends_nothing(const TensorType& type, const Sharding& from, const Sharding& to) const;
  /// Returns whether it costs nothing.
  bool is_free(const TensorType& type, const Sharding& from, const Sharding& to) const {
    return from == to || (fused_ != FusedMoves::kNone && sends_nothing(type, from, to));
  }

 private:
  PlanCost timed(const TensorType& type, Sharding from, const std::vector<Move>& moves, bool can_hide) const;

  const Mesh& mesh_;
  const Hardware* hardware_;
  double hidden_;
  int64_t departure_;  // the cost of an operand that is taken otherwise than rules say
  FusedMoves fused_;
};

}  // namespace mtfc
