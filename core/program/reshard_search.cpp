#include "core/program/reshard_search.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <queue>
#include <tuple>
#include <utility>

#include "core/diagnostics/stop.h"
#include "core/program/collective_cost.h"

namespace mtfc {
namespace {

// A search goes through no more splits of a tensor than this. Three axes split four dimensions in 193 ways, four in
// 1,457.
constexpr size_t kMostSplits = 2000;

using Split = std::vector<AxisList>;  // the axes of each dimension

// All ways to split `rank` dimensions over some of `axes`. Returns nothing if there are more than kMostSplits.
std::vector<Split> all_splits(size_t rank, const AxisList& axes) {
  std::vector<Split> splits{Split(rank)};
  for (const int axis : axes) {
    const size_t before = splits.size();
    for (size_t s = 0; s < before; ++s)
      for (size_t d = 0; d < rank; ++d)
        for (size_t at = 0; at <= splits[s][d].size(); ++at) {
          if (splits.size() >= kMostSplits) return {};
          Split longer = splits[s];
          longer[d].insert(longer[d].begin() + static_cast<std::ptrdiff_t>(at), axis);
          splits.push_back(std::move(longer));
        }
  }
  return splits;
}

double parts_of(const Sharding& sharding, const Mesh& mesh) {
  double parts = 1;
  for (const AxisList& axes : sharding.dims) parts *= static_cast<double>(mesh.size(axes));
  return parts;
}

// The most elements that a device can hold under both shardings.
double most_common(const Resharding& change) {
  double common = 1;
  for (size_t d = 0; d < change.dims.size(); ++d) {
    const AxisList &a = change.from.dims[d], &b = change.to.dims[d];
    const auto parts = static_cast<double>(std::max(change.mesh.size(a), change.mesh.size(b)));
    common *= std::ceil(static_cast<double>(change.dims[d].size) / parts);
  }
  return common;
}

// A lower bound on the elements that the busiest device sends, on any way from one sharding to the other. It is the
// average of the elements that devices receive, since devices receive what others send. If the tensor is not partial,
// a device receives all elements of its new shard that are not in its old one. If the tensor is partial over g
// devices, it is reduced first, in shards of n elements; n is the smallest size that splitting over the other axes can
// give. A reduce_scatter sends n(g-1)/g elements and leaves n/g of them; an all_reduce sends 2n(g-1)/g and leaves n.
// Then the device receives the rest of its new shard.
int64_t least_sent(const Resharding& change) {
  double all = 1;
  for (const Dim& dim : change.dims) all *= static_cast<double>(dim.size);
  const double needed = all / parts_of(change.to, change.mesh);
  double reduced = 1;
  for (const Partial& p : change.from.partial)
    if (!change.to.is_partial(p.axis)) reduced *= static_cast<double>(change.mesh.size(p.axis));
  double least = needed - most_common(change);
  if (reduced > 1) {
    double kept_partial = 1;
    for (const Partial& p : change.to.partial) kept_partial *= static_cast<double>(change.mesh.size(p.axis));
    const double held = all * reduced * kept_partial / static_cast<double>(change.mesh.devices());
    const double sent = held * (1 - 1 / reduced);
    least = std::min(sent + std::max(0.0, needed - held / reduced), 2 * sent + std::max(0.0, needed - held));
  }
  return std::max<int64_t>(0, static_cast<int64_t>(std::ceil(least - 1e-6 * std::max(1.0, std::abs(least)))));
}

struct Cost {
  int64_t elements = 0;
  int64_t collectives = 0;
  int64_t moves = 0;
  auto operator<=>(const Cost&) const = default;
  Cost operator+(const Cost& other) const {
    return {elements + other.elements, collectives + other.collectives, moves + other.moves};
  }
};

Cost cost_of(const SingleMove& move, const Resharding& change) {
  if (!move.collective) return {0, 0, 1};
  return {planned_elements_sent(*move.collective, change), 1, 1};
}

using Key = std::pair<Split, std::vector<Partial>>;
Key key_of(const Sharding& sharding) {
  return {sharding.dims, sharding.partial};
}

// One step of a search: a change that is made at once, if it can be.
struct Edge {
  bool is_known = false;  // otherwise nothing below has been looked at
  bool is_possible = false;
  std::optional<Collective> collective;
  Cost cost;
};

// The steps between the shardings of tensors of one shape. Searches for different targets go through the same ones.
struct Edges {
  std::vector<Split> splits;
  std::map<Key, std::vector<Edge>> from;  // by target: a split, or a set of axes that are reduced
  size_t count = 0;
};

// `axes`: those that may split a dimension. They are all the same for changes of one shape that leave the same axes
// partial.
Edges& edges_of(const Resharding& change, const AxisList& axes) {
  constexpr size_t kMostKept = 1 << 18;
  thread_local std::map<std::vector<int64_t>, Edges> known;
  thread_local size_t count = 0;
  std::vector<int64_t> key;
  for (const Axis& axis : change.mesh.axes()) key.push_back(axis.size);
  key.push_back(-1);
  for (const Dim& dim : change.dims) key.push_back(dim.size);
  key.push_back(-1);
  key.insert(key.end(), axes.begin(), axes.end());
  const auto at = known.find(key);
  if (at != known.end()) return at->second;
  for (auto& [unused, edges] : known) count += std::exchange(edges.count, 0);
  if (count > kMostKept) {
    known.clear();
    count = 0;
  }
  Edges& made = known[key];
  made.splits = all_splits(change.dims.size(), axes);
  return made;
}

class ReshardSearch {
 public:
  ReshardSearch(const Resharding& change, const ReshardPlan& known)
      : change_(change),
        edges_(edges_of(change, usable_axes())),
        splits_(edges_.splits),
        best_{known.elements, known.collectives, static_cast<int64_t>(known.moves.size())} {}

  // The moves of a plan that is better than the known one, or none.
  std::vector<Move> run() {
    if (splits_.empty()) return {};
    reach(change_.from, {}, {std::nullopt, change_.from}, nullptr);
    while (!open_.empty()) {
      check_stop();
      const auto [estimate, order, state] = open_.top();
      open_.pop();
      if (estimate >= best_) break;
      if (state->closed) continue;
      state->closed = true;
      expand(*state);
    }
    return path();
  }

 private:
  struct State {
    Cost cost;
    Move last;  // the move that leads here
    const State* before = nullptr;
    bool known = false;
    bool closed = false;
  };

  // All axes but those over which the result stays partial.
  AxisList usable_axes() const {
    AxisList axes;
    for (size_t axis = 0; axis < change_.mesh.axes().size(); ++axis)
      if (!change_.to.is_partial(static_cast<int>(axis)) && change_.mesh.size(static_cast<int>(axis)) > 1)
        axes.push_back(static_cast<int>(axis));
    return axes;
  }

  void expand(const State& state) {
    const Sharding& now = state.last.to;
    const size_t subsets = size_t{1} << now.partial.size();
    std::vector<Edge>& edges = edges_.from[key_of(now)];
    if (edges.empty()) {
      edges.resize(splits_.size() + subsets);
      edges_.count += edges.size();
    }
    for (size_t s = 0; s < splits_.size(); ++s) {
      if (edges[s].is_known && !edges[s].is_possible) continue;
      Sharding next{splits_[s], now.partial};
      if (!next.partial.empty()) {
        const AxisList used = split_axes(next);
        std::erase_if(next.partial, [&](const Partial& p) { return contains(used, p.axis); });
      }
      if (next != now) try_move(state, next, edges[s]);
    }
    // An all_reduce over any of the axes that are to be reduced in the same way.
    for (size_t subset = 1; subset < subsets; ++subset) {
      AxisList axes;
      bool is_possible = true;
      for (size_t i = 0; i < now.partial.size(); ++i)
        if ((subset >> i & 1) != 0) {
          axes.push_back(now.partial[i].axis);
          is_possible = is_possible && !change_.to.is_partial(axes.back());
        }
      if (is_possible) try_move(state, without_partial(now, axes), edges[splits_.size() + subset]);
    }
  }

  void try_move(const State& state, const Sharding& next, Edge& edge) {
    if (estimate(next, state.cost) >= best_) return;
    if (!edge.is_known) {
      const Resharding step{change_.dims, state.last.to, next, change_.mesh};
      const std::optional<SingleMove> move = single_move(step);
      edge = {true, move.has_value(), move ? move->collective : std::nullopt,
              move ? cost_of(*move, step) : Cost{}};
    }
    if (edge.is_possible) reach(next, state.cost + edge.cost, {edge.collective, next}, &state);
  }

  // The least cost of a plan that has come to `sharding` at this cost.
  Cost estimate(const Sharding& sharding, const Cost& cost) const {
    if (sharding == change_.to) return cost;
    const int64_t rest = least_sent({change_.dims, sharding, change_.to, change_.mesh});
    return cost + Cost{rest, rest > 0 ? 1 : 0, 1};
  }

  void reach(const Sharding& sharding, const Cost& cost, Move move, const State* before) {
    const Cost least = estimate(sharding, cost);
    if (least >= best_) return;
    State& state = states_[key_of(sharding)];
    if (state.known && state.cost <= cost) return;
    state = {cost, std::move(move), before, true};
    if (sharding == change_.to) {
      best_ = cost;
      arrived_ = &state;
    } else {
      open_.emplace(least, order_++, &state);
    }
  }

  std::vector<Move> path() const {
    std::vector<const State*> states;
    for (const State* state = arrived_; state && state->before; state = state->before)
      states.push_back(state);
    std::vector<Move> moves;
    for (size_t i = states.size(); i-- > 0;) moves.push_back(states[i]->last);
    return moves;
  }

  const Resharding& change_;
  Edges& edges_;
  const std::vector<Split>& splits_;
  Cost best_;
  std::map<Key, State> states_;
  const State* arrived_ = nullptr;
  // If several states have the least estimate, the search expands the one that it reached first. A plan therefore
  // depends on nothing but the change.
  std::priority_queue<std::tuple<Cost, int64_t, State*>, std::vector<std::tuple<Cost, int64_t, State*>>,
                      std::greater<>>
      open_;
  int64_t order_ = 0;
};

}  // namespace

Sharding without_partial(Sharding sharding, const AxisList& axes) {
  std::erase_if(sharding.partial, [&](const Partial& p) { return contains(axes, p.axis); });
  return sharding;
}

ReshardPlan costed(const Resharding& change, std::vector<Move> moves) {
  ReshardPlan plan;
  Sharding now = change.from;
  for (const Move& move : moves) {
    if (move.collective) {
      plan.elements += planned_elements_sent(*move.collective, {change.dims, now, move.to, change.mesh});
      ++plan.collectives;
    }
    now = move.to;
  }
  plan.moves = std::move(moves);
  return plan;
}

ReshardPlan cheapest_reshard(const Resharding& change, ReshardPlan known) {
  if (known.elements <= least_sent(change)) return known;
  std::vector<Move> moves = ReshardSearch(change, known).run();
  return moves.empty() ? known : costed(change, std::move(moves));
}

}  // namespace mtfc
