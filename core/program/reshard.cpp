#include "core/program/reshard.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "core/diagnostics/error.h"
#include "core/diagnostics/stop.h"
#include "core/program/reshard_search.h"
#include "core/program/sent_elements.h"

namespace mtfc {
namespace {

bool is_prefix(const AxisList& prefix, const AxisList& list) {
  return prefix.size() <= list.size() && std::equal(prefix.begin(), prefix.end(), list.begin());
}

// Appends to each dimension of `now` the axes that `to` has next, as long as `usable` allows. Returns the
// axes taken.
template <typename Usable>
AxisList append_axes(Sharding& now, const Sharding& to, Usable usable) {
  AxisList taken;
  for (size_t d = 0; d < now.dims.size(); ++d)
    while (is_prefix(now.dims[d], to.dims[d]) && now.dims[d].size() < to.dims[d].size() &&
           usable(to.dims[d][now.dims[d].size()])) {
      const int axis = to.dims[d][now.dims[d].size()];
      now.dims[d].push_back(axis);
      taken.push_back(axis);
    }
  return taken;
}

// The direct way: slices, then reductions, by reduce_scatter if the result is split over the axis anyway, then one
// collective.
class DirectPlanner {
 public:
  explicit DirectPlanner(const Resharding& change)
      : dims_(change.dims), to_(change.to), mesh_(change.mesh), now_(change.from) {}

  std::vector<Move> plan() {
    slice();
    reduce();
    slice();
    if (now_.dims != to_.dims) move_to({to_.dims, now_.partial});
    check_invariant(now_ == to_, "a reshard does not arrive");
    return std::move(moves_);
  }

 private:
  void slice() {
    const AxisList used = split_axes(now_), partial = partial_axes(now_);
    if (!append_axes(now_, to_, [&](int axis) {
           return !contains(used, axis) && !contains(partial, axis);
         }).empty())
      moves_.push_back({std::nullopt, now_});
  }

  // Reduces the axes that are partial now but not in the end; those of one kind are reduced together.
  void reduce() {
    std::map<ReduceKind, AxisList> pending;
    for (const Partial& p : now_.partial)
      if (!to_.is_partial(p.axis)) pending[p.kind].push_back(p.axis);
    for (const auto& [kind, axes] : pending) {
      Sharding scattered = now_;
      const AxisList split =
          append_axes(scattered, to_, [&all = axes](int axis) { return contains(all, axis); });
      if (!split.empty()) move_to(without_partial(std::move(scattered), split));
      if (split.size() < axes.size()) move_to(without_partial(now_, axes));
    }
  }

  // If nothing moves between devices, each keeps a part of what it holds.
  void move_to(const Sharding& next) {
    moves_.push_back({collective_between({dims_, now_, next, mesh_}), next});
    now_ = next;
  }

  const Dims& dims_;
  const Sharding& to_;
  const Mesh& mesh_;
  Sharding now_;
  std::vector<Move> moves_;
};

// A text that is the same for changes that have the same plan. Names of dimensions and axes do not matter.
std::string key_of(const Resharding& change) {
  std::string key;
  const auto add = [&](int64_t number) { key.append(reinterpret_cast<const char*>(&number), sizeof number); };
  for (const Axis& axis : change.mesh.axes()) add(axis.size);
  for (const Dim& dim : change.dims) {
    add(-1);
    add(dim.size);
  }
  for (const Sharding* sharding : {&change.from, &change.to}) {
    for (const AxisList& axes : sharding->dims) {
      add(-2);
      for (const int axis : axes) add(axis);
    }
    for (const Partial& p : sharding->partial) {
      add(-3);
      add(p.axis);
      add(static_cast<int64_t>(p.kind));
    }
    for (const WindowSplit& window : sharding->windows) {
      add(-4);
      for (const int64_t number : window.numbers()) add(number);
    }
  }
  return key;
}

// The cheapest way into a sharding with windows: at once, or after another reshard, to the plain split over the same
// axes or to one where these dimensions are whole. Partial sums are reduced first.
ReshardPlan windowed_plan(const Resharding& change);

// Layers repeat, and strategies are compared by their reshards, so the same plans are needed again and again.
const ReshardPlan& planned(const Resharding& change) {
  constexpr size_t kMostKept = 1 << 17;
  thread_local std::unordered_map<std::string, ReshardPlan> plans;
  std::string key = key_of(change);
  if (const auto at = plans.find(key); at != plans.end()) return at->second;
  check_stop();
  if (plans.size() >= kMostKept) plans.clear();
  ReshardPlan plan = change.to.windows.empty()
                         ? cheapest_reshard(change, costed(change, DirectPlanner(change).plan()))
                         : windowed_plan(change);
  return plans.emplace(std::move(key), std::move(plan)).first->second;
}

ReshardPlan windowed_plan(const Resharding& change) {
  check_invariant(change.from.windows.empty(), "what a window reads is not resharded");
  Sharding split{change.to.dims, change.to.partial}, whole = split;
  for (const WindowSplit& window : change.to.windows) whole.dims[window.dim].clear();
  std::vector<std::vector<Move>> ways;
  const auto add = [&](std::vector<Move> moves, const Sharding& before) {
    moves.push_back({collective_between({change.dims, before, change.to, change.mesh}), change.to});
    ways.push_back(std::move(moves));
  };
  if (change.from.partial == change.to.partial) add({}, change.from);
  for (const Sharding& before : {split, whole})
    add(plan_reshard(change.dims, change.from, before, change.mesh), before);
  std::optional<ReshardPlan> best;
  for (std::vector<Move>& moves : ways) {
    ReshardPlan plan = costed(change, std::move(moves));
    if (!best || std::tie(plan.elements, plan.collectives) < std::tie(best->elements, best->collectives))
      best = std::move(plan);
  }
  return std::move(*best);
}

}  // namespace

std::vector<Move> plan_reshard(const Dims& dims, const Sharding& from, const Sharding& to, const Mesh& mesh,
                               ReshardWay way) {
  if (from == to) return {};
  const Resharding change{dims, from, to, mesh};
  if (way == ReshardWay::kDirect && to.windows.empty()) return DirectPlanner(change).plan();
  return planned(change).moves;
}

MoveCost pieces_cost(const PieceCall& call, const Factor& moved, const std::vector<Sharding>& operands,
                     const Sharding& result, const Mesh& mesh) {
  AxisList axes = operands[0].dims[static_cast<size_t>(moved.operands[0])];
  if (axes.empty()) return {};
  std::sort(axes.begin(), axes.end());
  std::vector<MovedTensor> from;
  for (size_t i = 0; i < operands.size(); ++i) from.push_back({call.operands[i].dims, operands[i]});
  const SentElements sent(PieceMap(call.op, call.attributes, call.operands, {&call.result, 1}), from,
                          {call.result.dims, result}, axes, mesh);
  const int64_t bytes = sent.most_or_bound() * size_of(call.result.dtype);
  return {bytes, bytes > 0 ? 1 : 0};
}

MoveCost reshard_cost(const TensorType& type, const Sharding& from, const Sharding& to, const Mesh& mesh) {
  if (from == to) return {};
  const ReshardPlan& plan = planned({type.dims, from, to, mesh});
  return {plan.elements * size_of(type.dtype), plan.collectives};
}

}  // namespace mtfc
