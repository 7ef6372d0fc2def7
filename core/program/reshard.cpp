#include "core/program/reshard.h"

#include <algorithm>
#include <map>

#include "core/diagnostics/error.h"
#include "core/program/collective_cost.h"
#include "core/tensors/relayout.h"

namespace mtfc {
namespace {

bool has(const AxisList& axes, int axis) {
  return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

bool is_prefix(const AxisList& prefix, const AxisList& list) {
  return prefix.size() <= list.size() && std::equal(prefix.begin(), prefix.end(), list.begin());
}

AxisList sorted(AxisList axes) {
  std::sort(axes.begin(), axes.end());
  return axes;
}

// True if `from` becomes `to` by moving minor axes, each from one dimension to another. Every device then
// sends each member of the group its part, and sends no part twice.
bool is_all_to_all(const Sharding& from, const Sharding& to) {
  if (split_axes(from) != split_axes(to)) return false;
  for (size_t d = 0; d < from.dims.size(); ++d) {
    const AxisList &before = from.dims[d], &after = to.dims[d];
    const auto kept = static_cast<size_t>(
        std::mismatch(before.begin(), before.end(), after.begin(), after.end()).first - before.begin());
    for (size_t i = kept; i < before.size(); ++i)
      if (has(after, before[i])) return false;
  }
  return true;
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
  return sorted(taken);
}

class Planner {
 public:
  Planner(const Dims& dims, const Sharding& from, const Sharding& to, const Mesh& mesh)
      : dims_(dims), to_(to), mesh_(mesh), now_(from) {}

  std::vector<Move> plan() {
    slice();
    reduce();
    slice();
    if (now_.dims != to_.dims) gather_or_exchange();
    check_invariant(now_ == to_, "a reshard does not arrive");
    return std::move(moves_);
  }

 private:
  void slice() {
    const AxisList used = split_axes(now_), partial = partial_axes(now_);
    if (!append_axes(now_, to_, [&](int axis) { return !has(used, axis) && !has(partial, axis); }).empty())
      moves_.push_back({std::nullopt, now_});
  }

  // Reduces the axes that are partial now but not in the end; those of one kind are reduced together.
  void reduce() {
    std::map<ReduceKind, AxisList> pending;
    for (const Partial& p : now_.partial)
      if (!to_.is_partial(p.axis)) pending[p.kind].push_back(p.axis);
    for (auto& [kind, axes] : pending) {
      const AxisList scattered = append_axes(now_, to_, [&all = axes](int axis) { return has(all, axis); });
      std::erase_if(axes, [&](int axis) { return has(scattered, axis); });
      if (!scattered.empty()) reduced(CollectiveKind::kReduceScatter, scattered, kind);
      if (!axes.empty()) reduced(CollectiveKind::kAllReduce, axes, kind);
    }
  }

  void reduced(CollectiveKind collective, const AxisList& axes, ReduceKind kind) {
    std::erase_if(now_.partial, [&](const Partial& p) { return has(axes, p.axis); });
    moves_.push_back({Collective{collective, axes, kind}, now_});
  }

  void gather_or_exchange() {
    AxisList gathered;
    bool only_suffixes = true;
    for (size_t d = 0; d < now_.dims.size(); ++d) {
      only_suffixes &= is_prefix(to_.dims[d], now_.dims[d]);
      if (only_suffixes)
        gathered.insert(gathered.end(),
                        now_.dims[d].begin() + static_cast<std::ptrdiff_t>(to_.dims[d].size()),
                        now_.dims[d].end());
    }
    const Relayout relayout{dims_, now_.whole(), dims_, to_.whole()};
    const AxisList axes = only_suffixes ? sorted(gathered) : moving_axes(relayout, mesh_);
    const CollectiveKind collective = only_suffixes              ? CollectiveKind::kAllGather
                                      : is_all_to_all(now_, to_) ? CollectiveKind::kAllToAll
                                                                 : CollectiveKind::kExchange;
    now_.dims = to_.dims;
    // If nothing moves between devices, each keeps a part of what it holds.
    if (axes.empty())
      moves_.push_back({std::nullopt, now_});
    else
      moves_.push_back({Collective{collective, axes}, now_});
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
