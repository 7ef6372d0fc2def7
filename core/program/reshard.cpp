#include "core/program/reshard.h"

#include <algorithm>
#include <map>

#include "core/diagnostics/error.h"
#include "core/program/collective_cost.h"

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

class Planner {
 public:
  Planner(const Dims& dims, const Sharding& from, const Sharding& to, const Mesh& mesh)
      : dims_(dims), to_(to), mesh_(mesh), now_(from) {}

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

  static Sharding without_partial(Sharding sharding, const AxisList& axes) {
    std::erase_if(sharding.partial, [&](const Partial& p) { return contains(axes, p.axis); });
    return sharding;
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

}  // namespace

std::vector<Move> plan_reshard(const Dims& dims, const Sharding& from, const Sharding& to, const Mesh& mesh) {
  if (from == to) return {};
  return Planner(dims, from, to, mesh).plan();
}

MoveCost cost_of(const std::vector<Move>& moves, const TensorType& type, Sharding from, const Mesh& mesh) {
  MoveCost cost;
  for (const Move& move : moves) {
    if (move.collective) {
      const int64_t group = mesh.size(move.collective->axes);
      const int64_t in = elements(largest_dims(type.dims, from, mesh)) * size_of(type.dtype);
      const int64_t out = elements(largest_dims(type.dims, move.to, mesh)) * size_of(type.dtype);
      cost += {estimated_bytes_sent(move.collective->kind, in, out, group), 1};
    }
    from = move.to;
  }
  return cost;
}

MoveCost reshard_cost(const TensorType& type, const Sharding& from, const Sharding& to, const Mesh& mesh) {
  return cost_of(plan_reshard(type.dims, from, to, mesh), type, from, mesh);
}

}  // namespace mtfc
