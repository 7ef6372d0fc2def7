#include "core/program/reshard_search.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>

#include "core/diagnostics/stop.h"
#include "core/tensors/relayout.h"

// The planner is compared with a brute force that shares nothing with it but the definition of a shard: all shardings
// of a tensor are nodes, all single moves between them are edges, and what a device sends is counted element by element
// of the regions of every pair of devices.
namespace mtfc::reshard_search_test {
namespace {

constexpr int64_t kNever = INT64_MAX / 4;
constexpr int64_t kMostLookedAt = 400;

using Split = std::vector<AxisList>;

class BruteForce {
 public:
  BruteForce(Dims dims, Mesh mesh) : dims_(std::move(dims)), mesh_(std::move(mesh)) {
    add_states({std::vector<AxisList>(dims_.size()), {}}, 0);
    const size_t count = states_.size();
    cost_.assign(count, std::vector<int64_t>(count, kNever));
    for (size_t a = 0; a < count; ++a)
      for (size_t b = 0; b < count; ++b)
        if (const std::optional<int64_t> cost = a == b ? 0 : move_cost(states_[a], states_[b]))
          cost_[a][b] = *cost;
    for (size_t via = 0; via < count; ++via)
      for (size_t a = 0; a < count; ++a)
        for (size_t b = 0; b < count; ++b) cost_[a][b] = std::min(cost_[a][b], cost_[a][via] + cost_[via][b]);
  }

  const std::vector<Sharding>& states() const { return states_; }
  int64_t cost(size_t from, size_t to) const { return cost_[from][to]; }

  // What the busiest device sends in one move, or nothing if there is no such move.
  std::optional<int64_t> move_cost(const Sharding& from, const Sharding& to) const {
    AxisList reduced;
    for (const Partial& p : from.partial)
      if (!to.is_partial(p.axis)) reduced.push_back(p.axis);
    for (const Partial& p : to.partial)
      if (!from.is_partial(p.axis)) return std::nullopt;
    if (reduced.empty()) {
      const auto gathered = minor(to, from);
      return gathered && !gathered->empty() ? to_all(from, to, *gathered) : moved(from, to);
    }
    const auto added = minor(from, to);
    if (!added) return std::nullopt;
    const int64_t in = elements(local_box(dims_, from, mesh_, mesh_.last()));
    if (added->empty()) return 2 * (in - in / mesh_.size(reduced));
    return *added == reduced ? std::optional(to_all(to, from, reduced)) : std::nullopt;
  }

 private:
  void add_states(const Sharding& state, int axis) {
    if (axis == static_cast<int>(mesh_.axes().size())) {
      states_.push_back(state);
      return;
    }
    add_states(state, axis + 1);
    Sharding next = state;
    next.partial.push_back({axis, ReduceKind::kSum});
    add_states(next, axis + 1);
    for (size_t d = 0; d < dims_.size(); ++d)
      for (size_t at = 0; at <= state.dims[d].size(); ++at) {
        next = state;
        next.dims[d].insert(next.dims[d].begin() + static_cast<std::ptrdiff_t>(at), axis);
        add_states(next, axis + 1);
      }
  }

  void for_each_device(const std::function<void(const Coordinates&)>& visit) const {
    for (int64_t rank = 0; rank < mesh_.devices(); ++rank) visit(mesh_.coordinates(rank));
  }

  // The axes that `longer` has behind those of `shorter`, ascending, or nothing if it is no extension.
  static std::optional<AxisList> minor(const Sharding& shorter, const Sharding& longer) {
    AxisList axes;
    for (size_t d = 0; d < longer.dims.size(); ++d) {
      const AxisList &a = shorter.dims[d], &b = longer.dims[d];
      if (a.size() > b.size() || !std::equal(a.begin(), a.end(), b.begin())) return std::nullopt;
      axes.insert(axes.end(), b.begin() + static_cast<std::ptrdiff_t>(a.size()), b.end());
    }
    std::sort(axes.begin(), axes.end());
    return axes;
  }

  // An all_gather from `shards` to `whole` over `axes`, or a reduce_scatter the other way: all but a member's share.
  int64_t to_all(const Sharding& shards, const Sharding& whole, const AxisList& axes) const {
    int64_t most = 0;
    for_each_device([&](const Coordinates& at) {
      int64_t smallest = INT64_MAX;
      for (int64_t m = 0; m < mesh_.size(axes); ++m)
        smallest = std::min(smallest, elements(local_box(dims_, shards, mesh_, mesh_.moved(at, axes, m))));
      most = std::max(most, elements(local_box(dims_, whole, mesh_, at)) - smallest);
    });
    return most;
  }

  // Elements that change devices. Each device takes them from the replica that shares its coordinates on the axes that
  // do not move.
  int64_t moved(const Sharding& from, const Sharding& to) const {
    AxisList moving;
    for (size_t d = 0; d < dims_.size(); ++d) {
      const AxisList &a = from.dims[d], &b = to.dims[d];
      const auto kept = std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first;
      moving.insert(moving.end(), kept, a.end());
    }
    int64_t most = 0;
    for_each_device([&](const Coordinates& at) {
      int64_t sent = 0;
      for (int64_t m = 0; m < mesh_.size(moving); ++m)
        if (const Coordinates member = mesh_.moved(at, moving, m); member != at)
          sent += common_elements(dims_, local_box(dims_, from, mesh_, at), dims_,
                                  local_box(dims_, to, mesh_, member));
      most = std::max(most, sent);
    });
    return most;
  }

  Dims dims_;
  Mesh mesh_;
  std::vector<Sharding> states_;
  std::vector<std::vector<int64_t>> cost_;
};

// A plan must make moves that exist, and cost what they cost, and no more than any other sequence of moves.
void check_plans(const Dims& dims, const Mesh& mesh) {
  const BruteForce brute(dims, mesh);
  int pairs = 0;
  for (size_t a = 0; a < brute.states().size(); ++a)
    for (size_t b = 0; b < brute.states().size(); ++b) {
      const Sharding &from = brute.states()[a], &to = brute.states()[b];
      if (a == b || brute.cost(a, b) >= kNever) continue;
      ++pairs;
      CAPTURE(to_string(mesh));
      CAPTURE(to_string(dims, from, mesh));
      CAPTURE(to_string(dims, to, mesh));
      int64_t sent = 0, collectives = 0;
      Sharding now = from;
      for (const Move& move : plan_reshard(dims, from, to, mesh)) {
        const std::optional<int64_t> cost = brute.move_cost(now, move.to);
        REQUIRE(cost.has_value());
        CHECK((*cost > 0) == move.collective.has_value());
        sent += *cost;
        collectives += move.collective ? 1 : 0;
        now = move.to;
      }
      CHECK(now == to);
      CHECK(sent == brute.cost(a, b));
      CHECK(reshard_cost({DType::kF32, dims}, from, to, mesh) == MoveCost{4 * sent, collectives});
    }
  CHECK(pairs > 60);
}

Dims shape(const std::vector<int64_t>& sizes) {
  Dims dims;
  for (const int64_t size : sizes)
    dims.push_back({std::string(1, static_cast<char>('a' + dims.size())), size});
  return dims;
}

const Mesh kMeshes[] = {Mesh({{"x", 2}, {"y", 2}}), Mesh({{"x", 4}, {"y", 2}}), Mesh({{"x", 2}, {"y", 8}}),
                        Mesh({{"x", 3}, {"y", 2}})};

TEST_CASE("no sequence of moves sends less than a plan: matrices") {
  for (const Mesh& mesh : kMeshes)
    for (const std::vector<int64_t>& sizes : {std::vector<int64_t>{16, 16}, {7, 5}, {13, 11}, {1, 3}})
      check_plans(shape(sizes), mesh);
}

TEST_CASE("no sequence of moves sends less than a plan: three dimensions") {
  for (const Mesh& mesh : kMeshes)
    for (const std::vector<int64_t>& sizes : {std::vector<int64_t>{16, 16, 16}, {5, 16, 3}})
      check_plans(shape(sizes), mesh);
}

TEST_CASE("no sequence of moves sends less than a plan: three axes") {
  check_plans(shape({8, 12}), Mesh({{"x", 2}, {"y", 2}, {"z", 2}}));
  check_plans(shape({23}), Mesh({{"x", 2}, {"y", 3}, {"z", 2}}));
}

TEST_CASE("few shardings are looked at on the way to a plan") {
  const Mesh mesh({{"x", 8}, {"y", 8}, {"z", 8}});
  const Dims dims = shape({8, 8192, 32, 128});
  const std::vector<Partial> over_z = {{2, ReduceKind::kSum}};
  int64_t looked_at = 0;
  const std::function<bool()> counts = [&] {
    ++looked_at;
    return false;
  };
  const StopScope scope(counts);
  for (const Split& from : {Split{{}, {}, {}, {}}, Split{{0}, {}, {}, {}}, Split{{0}, {1}, {}, {}}})
    for (const Split& to : {Split{{}, {}, {2}, {}}, Split{{0}, {}, {2}, {}}, Split{{}, {1}, {}, {}}})
      plan_reshard(dims, {from, over_z}, {to, {}}, mesh);
  CAPTURE(looked_at);
  CHECK(looked_at < kMostLookedAt);
}

TEST_CASE("dimensions of a single element make a plan no harder to find") {
  const Mesh mesh({{"x", 2}, {"y", 3}});
  const Dims dims = shape(std::vector<int64_t>(30, 1));
  int64_t looked_at = 0;
  const std::function<bool()> counts = [&] {
    ++looked_at;
    return false;
  };
  const StopScope scope(counts);
  const Split whole(30);
  const Sharding partial{whole, {{0, ReduceKind::kSum}, {1, ReduceKind::kSum}}};
  CHECK(plan_reshard(dims, partial, {whole, {}}, mesh).size() == 1);
  CAPTURE(looked_at);
  CHECK(looked_at < 20);
}

TEST_CASE("a reduction over one axis is done in slices over another one") {
  const Mesh mesh({{"x", 2}, {"y", 8}});
  const Dims dims = shape({16, 16});
  // 16 * 16 elements in slices of 32, of which half are sent; then 7 of 8 parts of 16 elements.
  CHECK(reshard_cost({DType::kF32, dims}, {{{}, {}}, {{0, ReduceKind::kSum}}}, {{{0, 1}, {}}, {}}, mesh) ==
        MoveCost{4 * (32 / 2 + 16 * 7 / 8), 2});
}

}  // namespace
}  // namespace mtfc::reshard_search_test
