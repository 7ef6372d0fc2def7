#include "core/program/reshard_search.h"

#include <algorithm>
#include <map>
#include <queue>
#include <tuple>
#include <utility>

#include "core/diagnostics/stop.h"
#include "core/program/collective_cost.h"
#include "core/tensors/division.h"

namespace mtfc {
namespace {

// A search goes through no more splits of a tensor than this. Three axes split four dimensions in 193 ways, four in
// 1,457.
constexpr size_t kMostSplits = 2000;

using Split = std::vector<AxisList>;  // the axes of each dimension

// The dimensions that may be split on the way. One of a single element is left as it is, unless the change itself
// splits it: a tensor may have many of these.
std::vector<size_t> usable_dims(const Resharding& change) {
  std::vector<size_t> dims;
  for (size_t d = 0; d < change.dims.size(); ++d)
    if (change.dims[d].size > 1 || !change.from.dims[d].empty() || !change.to.dims[d].empty())
      dims.push_back(d);
  return dims;
}

// All ways to split `dims`, of `rank` dimensions, over some of `axes`. Returns nothing if there are more than
// kMostSplits.
std::vector<Split> all_splits(size_t rank, const std::vector<size_t>& dims, const AxisList& axes) {
  std::vector<Split> splits{Split(rank)};
  for (const int axis : axes) {
    const size_t before = splits.size();
    for (size_t s = 0; s < before; ++s)
      for (const size_t d : dims)
        for (size_t at = 0; at <= splits[s][d].size(); ++at) {
          if (splits.size() >= kMostSplits) return {};
          Split longer = splits[s];
          longer[d].insert(longer[d].begin() + static_cast<std::ptrdiff_t>(at), axis);
          splits.push_back(std::move(longer));
        }
  }
  return splits;
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

// One step of a search: a change that is made at once, if it can be.
struct Edge {
  enum class State : uint8_t { kUnknown, kImpossible, kSlice, kCollective };
  int64_t elements = 0;
  State state = State::kUnknown;

  Cost cost() const { return {elements, state == State::kCollective ? 1 : 0, 1}; }
};

// The splits of tensors of one shape, and the steps between them. Searches for different targets go through the same
// ones.
struct Edges {
  std::vector<Split> splits;
  std::map<Split, size_t> numbers;  // the positions in `splits`
  std::vector<int64_t> parts;       // the shards of each dimension, split by split
  // By what the step begins with: for each split and then each set of axes that are reduced.
  std::map<std::pair<Split, std::vector<Partial>>, std::vector<Edge>> from;
  size_t count = 0;
};

Edge edge_of(const Resharding& step) {
  const std::optional<SingleMove> move = single_move(step);
  if (!move) return {0, Edge::State::kImpossible};
  if (!move->collective) return {0, Edge::State::kSlice};
  return {planned_elements_sent(*move->collective, step), Edge::State::kCollective};
}

// `axes`: those that may split a dimension. They are all the same for changes of one shape that leave the same axes
// partial.
Edges& edges_of(const Resharding& change, const AxisList& axes) {
  constexpr size_t kMostKept = size_t{1} << 22;
  thread_local std::map<std::vector<int64_t>, Edges> known;
  thread_local size_t count = 0;
  std::vector<int64_t> key;
  for (const Axis& axis : change.mesh.axes()) key.push_back(axis.size);
  key.push_back(-1);
  for (const Dim& dim : change.dims) key.push_back(dim.size);
  key.push_back(-1);
  key.insert(key.end(), axes.begin(), axes.end());
  key.push_back(-1);
  const std::vector<size_t> dims = usable_dims(change);
  for (const size_t d : dims) key.push_back(static_cast<int64_t>(d));
  const auto at = known.find(key);
  if (at != known.end()) return at->second;
  for (auto& [unused, edges] : known) count += std::exchange(edges.count, 0);
  if (count > kMostKept) {
    known.clear();
    count = 0;
  }
  Edges& made = known[key];
  made.splits = all_splits(change.dims.size(), dims, axes);
  for (size_t s = 0; s < made.splits.size(); ++s) {
    made.numbers.emplace(made.splits[s], s);
    for (const AxisList& list : made.splits[s]) made.parts.push_back(change.mesh.size(list));
  }
  return made;
}

// A lower bound on the elements that the busiest device sends, on any way to one sharding. It is the average of the
// elements that devices receive, since devices receive what others send. If the tensor is not partial, a device
// receives all elements of its new shard that are not in its old one. If the tensor is partial over g devices, it is
// reduced first, in shards of n elements; n is the smallest size that splitting over the other axes can give. A
// reduce_scatter sends n(g-1)/g elements and leaves n/g of them; an all_reduce sends 2n(g-1)/g and leaves n. Then the
// device receives the rest of its new shard.
class LeastSent {
 public:
  explicit LeastSent(const Resharding& change) : dims_(change.dims), devices_(change.mesh.devices()) {
    for (const Dim& dim : dims_) all_ *= dim.size;
  }

  // A tensor whose dimensions are split into so many shards, and that is partial over so many devices.
  struct Held {
    const int64_t* parts;
    int64_t partial;
  };
  int64_t between(const Held& from, const Held& to) const {
    Wide shards = 1, common = 1;
    for (size_t d = 0; d < dims_.size(); ++d) {
      shards *= to.parts[d];
      // The most that a device can hold under both shardings.
      common *= ceil_div(dims_[d].size, std::max(from.parts[d], to.parts[d]));
    }
    if (from.partial == to.partial) return rounded_up(all_ - common * shards, shards);
    const Wide needed = all_ * (devices_ / shards), left = all_ * to.partial;
    const Wide sent = left * (from.partial / to.partial - 1);
    return rounded_up(std::min(sent + std::max<Wide>(0, needed - left),
                               2 * sent + std::max<Wide>(0, needed - all_ * from.partial)),
                      devices_);
  }

 private:
  using Wide = __int128;  // holds the elements of a tensor times the devices of a mesh

  static int64_t rounded_up(Wide dividend, Wide divisor) {
    return dividend <= 0 ? 0 : static_cast<int64_t>((dividend + divisor - 1) / divisor);
  }

  const Dims& dims_;
  Wide devices_, all_ = 1;
};

// A shortest path. Its states are numbered: by the split, and then by the set of axes that are still to be reduced.
// What a step costs is found out only when no other way seems shorter.
class ReshardSearch {
 public:
  ReshardSearch(const Resharding& change, const ReshardPlan& known)
      : change_(change),
        edges_(edges_of(change, usable_axes())),
        splits_(edges_.splits),
        least_sent_(change),
        best_{known.elements, known.collectives, static_cast<int64_t>(known.moves.size())} {}

  // The moves of a plan that is better than the known one, or none.
  std::vector<Move> run() {
    const auto first = edges_.numbers.find(change_.from.dims), last = edges_.numbers.find(change_.to.dims);
    if (first == edges_.numbers.end() || last == edges_.numbers.end()) return {};
    for (const Partial& p : change_.from.partial)
      if (!change_.to.is_partial(p.axis)) pending_.push_back(p);
    const size_t sets = size_t{1} << pending_.size();
    for (size_t set = 0; set < sets; ++set) sets_.push_back(partial_over(set));
    states_.resize(splits_.size() * sets);
    start_ = first->second * sets + sets - 1;
    target_ = last->second * sets;
    // A known plan that sends the least is kept, even if another one had fewer moves: a gather is better than an
    // exchange.
    if (with_rest({}, start_).elements >= best_.elements) return {};
    for (const Split& split : splits_) kept_.push_back(kept_pending(split));
    reach(start_, {}, start_);
    while (!open_.empty() && !states_[target_].known) {
      const Step step = open_.top();
      open_.pop();
      take(step);
    }
    return path();
  }

 private:
  // A set of axes over which the tensor is partial on the way.
  struct PartialSet {
    std::vector<Partial> partial;
    int64_t devices;
  };
  struct State {
    Cost cost;
    size_t before = 0;
    std::vector<Edge>* edges = nullptr;
    int64_t rest = -1;  // the least elements that are still to be sent; -1: not known yet
    bool known = false;
  };
  struct Step {
    Cost least;  // no plan with this step costs less
    int64_t order;
    size_t from, to;  // states
    size_t edge;
  };
  // Of equally good steps, the one is taken that was seen first. A plan therefore depends on nothing but the change.
  struct IsLater {
    bool operator()(const Step& a, const Step& b) const {
      return std::tie(a.least, a.order) > std::tie(b.least, b.order);
    }
  };

  // All axes but those over which the result stays partial.
  AxisList usable_axes() const {
    AxisList axes;
    for (size_t axis = 0; axis < change_.mesh.axes().size(); ++axis)
      if (!change_.to.is_partial(static_cast<int>(axis)) && change_.mesh.size(static_cast<int>(axis)) > 1)
        axes.push_back(static_cast<int>(axis));
    return axes;
  }

  PartialSet partial_over(size_t set) const {
    PartialSet found{change_.to.partial, 1};
    for (size_t i = 0; i < pending_.size(); ++i)
      if ((set >> i & 1) != 0) found.partial.push_back(pending_[i]);
    std::sort(found.partial.begin(), found.partial.end());
    for (const Partial& p : found.partial) found.devices *= change_.mesh.size(p.axis);
    return found;
  }

  // The axes that may still be to be reduced if the tensor is split so.
  size_t kept_pending(const Split& split) const {
    size_t kept = sets_.size() - 1;
    for (size_t i = 0; i < pending_.size(); ++i)
      for (const AxisList& axes : split)
        if (contains(axes, pending_[i].axis)) kept &= ~(size_t{1} << i);
    return kept;
  }

  Sharding sharding(size_t state) const {
    return {splits_[state / sets_.size()], sets_[state % sets_.size()].partial};
  }
  LeastSent::Held held(size_t state) const {
    return {edges_.parts.data() + state / sets_.size() * change_.dims.size(),
            sets_[state % sets_.size()].devices};
  }

  // The least cost of a plan that has come to the state at this cost.
  Cost with_rest(const Cost& cost, size_t state) {
    if (state == target_) return cost;
    int64_t& rest = states_[state].rest;
    if (rest < 0) rest = least_sent_.between(held(state), held(target_));
    return cost + Cost{rest, rest > 0 ? 1 : 0, 1};
  }

  void reach(size_t number, const Cost& cost, size_t before) {
    State& state = states_[number];
    if (state.known && state.cost <= cost) return;
    state.cost = cost;
    state.before = before;
    state.known = true;
    if (number != target_) expand(number);
  }

  void expand(size_t state) {
    check_stop();
    const size_t split = state / sets_.size(), pending = state % sets_.size();
    const std::vector<Partial>& now = sets_[pending].partial;
    const size_t subsets = size_t{1} << now.size();
    std::vector<Edge>& edges = edges_.from[{splits_[split], now}];
    if (edges.empty()) {
      edges.resize(splits_.size() + subsets);
      edges_.count += edges.size();
    }
    states_[state].edges = &edges;
    for (size_t s = 0; s < splits_.size(); ++s)
      if (const size_t next = s * sets_.size() + (pending & kept_[s]); next != state) offer(state, next, s);
    // An all_reduce over any of the axes that are to be reduced in the same way.
    for (size_t subset = 1; subset < subsets; ++subset) {
      size_t rest = pending;
      bool is_possible = true;
      for (size_t i = 0; i < now.size(); ++i) {
        if ((subset >> i & 1) == 0) continue;
        const auto at = std::find(pending_.begin(), pending_.end(), now[i]);
        is_possible = is_possible && at != pending_.end();
        if (is_possible) rest &= ~(size_t{1} << (at - pending_.begin()));
      }
      if (is_possible) offer(state, split * sets_.size() + rest, splits_.size() + subset);
    }
  }

  // Adds a step to those that may be taken.
  void offer(size_t from, size_t to, size_t number) {
    const Edge& edge = (*states_[from].edges)[number];
    if (edge.state == Edge::State::kImpossible) return;
    Cost cost = states_[from].cost;
    if (with_rest(cost, to) >= best_) return;
    if (edge.state == Edge::State::kUnknown) {
      const int64_t sent = least_sent_.between(held(from), held(to));
      cost = cost + Cost{sent, sent > 0 ? 1 : 0, 1};
    } else {
      cost = cost + edge.cost();
    }
    const State& next = states_[to];
    if (next.known && next.cost <= cost) return;
    if (const Cost least = with_rest(cost, to); least < best_)
      open_.push({least, order_++, from, to, number});
  }

  void take(const Step& step) {
    Edge& edge = (*states_[step.from].edges)[step.edge];
    if (edge.state == Edge::State::kUnknown) {
      const Sharding from = sharding(step.from), to = sharding(step.to);
      edge = edge_of({change_.dims, from, to, change_.mesh});
      offer(step.from, step.to, step.edge);
    } else {
      reach(step.to, states_[step.from].cost + edge.cost(), step.from);
    }
  }

  std::vector<Move> path() {
    std::vector<size_t> states;
    if (states_[target_].known)
      for (size_t state = target_; state != start_; state = states_[state].before) states.push_back(state);
    std::vector<Move> moves;
    for (size_t i = states.size(); i-- > 0;) {
      const Sharding from = sharding(states_[states[i]].before);
      Sharding to = sharding(states[i]);
      const std::optional<SingleMove> move = single_move({change_.dims, from, to, change_.mesh});
      moves.push_back({move->collective, std::move(to)});
    }
    return moves;
  }

  const Resharding& change_;
  Edges& edges_;
  const std::vector<Split>& splits_;
  const LeastSent least_sent_;
  const Cost best_;               // a plan must cost less
  std::vector<Partial> pending_;  // that are to be reduced on the way
  std::vector<PartialSet> sets_;  // with each set of them
  std::vector<size_t> kept_;      // per split: those of `pending_` whose axes it does not use
  std::vector<State> states_;
  size_t start_ = 0, target_ = 0;
  std::priority_queue<Step, std::vector<Step>, IsLater> open_;
  int64_t order_ = 0;
};

}  // namespace

Sharding without_partial(Sharding sharding, const AxisList& axes) {
  std::erase_if(sharding.partial, [&](const Partial& p) { return contains(axes, p.axis); });
  return sharding;
}

bool is_slice(const Resharding& change) {
  if (change.from.partial != change.to.partial) return false;
  const std::optional<SingleMove> move = single_move(change);
  return move && !move->collective;
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
  std::vector<Move> moves = ReshardSearch(change, known).run();
  return moves.empty() ? known : costed(change, std::move(moves));
}

}  // namespace mtfc
