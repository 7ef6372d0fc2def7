#include "core/plan/plan_prices.h"

#include <algorithm>
#include <cmath>

#include "core/cost/collective_time.h"
#include "core/cost/kernel_time.h"
#include "core/program/collective_cost.h"
#include "core/program/reshard_search.h"

namespace mtfc {
namespace {

PlanCost cost_of_moves(int64_t bytes, int64_t collectives, bool can_hide) {
  PlanCost cost{0, collectives, bytes, 0, can_hide ? 0 : bytes};
  if (__builtin_mul_overflow(bytes, kCostPerByte, &cost.total) ||
      __builtin_add_overflow(cost.total, collectives * kCostPerByte * kPlanBytesPerCollective, &cost.total))
    cost.total = PlanCost::kImpossible - 1;
  return cost;
}

int64_t priced(double seconds) {
  const double shares = seconds * 1e9 * static_cast<double>(kCostPerByte);
  return shares < static_cast<double>(PlanCost::kImpossible - 1) ? std::llround(shares)
                                                                 : PlanCost::kImpossible - 1;
}

}  // namespace

PlanCost PlanPrices::operation(const OpDef& op, const LocalCall& call,
                               const std::vector<LocalType>& results) const {
  if (hardware_) return {priced(node_time(op, call, results, *hardware_).seconds())};
  if (!is_product(op)) return {};
  return {std::min(op.flops(call, results), PlanCost::kImpossible - 1)};
}

PlanCost PlanPrices::exchange(int64_t bytes, const AxisList& axes) const {
  if (bytes == 0) return {};
  if (!hardware_) return cost_of_moves(bytes, 1, false);
  const CollectiveTime time =
      collective_time(CollectiveKind::kExchange, axes, mesh_, static_cast<double>(bytes), *hardware_);
  return {priced(time.seconds()), 1, bytes, 0, bytes};
}

bool PlanPrices::sends_nothing(const TensorType& type, const Sharding& from, const Sharding& to) const {
  if (from == to) return true;
  if (!from.windows.empty()) return false;
  if (!to.windows.empty()) return reshard(type, from, to, false).collectives == 0;
  return is_slice({type.dims, from, to, mesh_});
}

PlanCost PlanPrices::reshard(const TensorType& type, const Sharding& from, const Sharding& to,
                             bool can_hide) const {
  if (from == to) return {};
  if (!from.windows.empty()) return PlanCost::impossible();
  for (const Partial& partial : to.partial)
    if (std::find(from.partial.begin(), from.partial.end(), partial) == from.partial.end())
      return PlanCost::impossible();
  if (!hardware_) {
    const MoveCost cost = reshard_cost(type, from, to, mesh_);
    return cost_of_moves(cost.bytes, cost.collectives, can_hide);
  }
  const auto cost = [&](ReshardWay way) {
    return timed(type, from, plan_reshard(type.dims, from, to, mesh_, way), can_hide);
  };
  return std::min(cost(ReshardWay::kFewestBytes), cost(ReshardWay::kDirect));
}

ReshardWay PlanPrices::way(const TensorType& type, const Sharding& from, const Sharding& to,
                           bool can_hide) const {
  if (!hardware_) return ReshardWay::kFewestBytes;
  const std::vector<Move> fewest = plan_reshard(type.dims, from, to, mesh_, ReshardWay::kFewestBytes),
                          direct = plan_reshard(type.dims, from, to, mesh_, ReshardWay::kDirect);
  return timed(type, from, direct, can_hide) < timed(type, from, fewest, can_hide) ? ReshardWay::kDirect
                                                                                   : ReshardWay::kFewestBytes;
}

// The moves one after the other, on the hardware. A form that is not the producer's comes from memory to a kernel that
// could else have been fused with the producer.
PlanCost PlanPrices::timed(const TensorType& type, Sharding from, const std::vector<Move>& moves,
                           bool can_hide) const {
  const bool is_step = std::any_of(moves.begin(), moves.end(), [&](const Move& move) {
    return fused_ == FusedMoves::kNone || (fused_ == FusedMoves::kSlices && move.collective);
  });
  PlanCost cost{is_step ? priced(hardware_->step_overhead_s) : 0};
  for (const Move& move : moves) {
    if (move.collective) {
      const int64_t bytes =
          planned_elements_sent(*move.collective, {type.dims, from, move.to, mesh_}) * size_of(type.dtype);
      const CollectiveTime time = collective_time(move.collective->kind, move.collective->axes, mesh_,
                                                  static_cast<double>(bytes), *hardware_);
      const double share = can_hide && time.overlaps ? 1 - hidden_ : 1;
      cost += {priced(share * (time.seconds() - time.own_s) + time.own_s), 1, bytes, 0, can_hide ? 0 : bytes};
    }
    from = move.to;
  }
  return cost;
}

}  // namespace mtfc
