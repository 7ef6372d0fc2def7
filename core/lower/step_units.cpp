#include "core/lower/step_units.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "core/program/fused_grid.h"

namespace mtfc {
namespace {

// Steps that are further apart than this are not joined: the inputs of a fused step must be kept until its
// last member can run.
constexpr int kFarthest = 256;
constexpr size_t kMostMembers = 64;
// A result that is so much smaller than what it is computed from costs little to keep, such as a sum.
constexpr int64_t kMuchSmaller = 16;

bool is_within_reach(StepIndex earlier, StepIndex later) {
  return later.number() - earlier.number() <= kFarthest;
}

// Fusible steps before `s` that make or read one of its operands.
std::vector<StepIndex> neighbours(const StepUses& uses, StepIndex s) {
  std::vector<StepIndex> found;
  const auto add = [&](StepIndex other) {
    if (other != StepIndex() && other < s && is_within_reach(other, s) && uses.is_fusible(other))
      found.push_back(other);
  };
  for (const ValueId id : uses.step(s).inputs) {
    const std::vector<StepIndex>& readers = uses.readers(id);
    // A number that several steps use must not tie them together.
    const Value& value = uses.entry().values[id];
    if (value.type.dims.empty() && readers.size() > 1) continue;
    add(uses.maker(id));
    for (auto reader = std::lower_bound(readers.begin(), readers.end(), s); reader != readers.begin();)
      if (is_within_reach(*--reader, s))
        add(*reader);
      else
        break;
  }
  return found;
}

// Units in an order in which each comes after those that it depends on. At first every step is a unit.
class UnitOrder {
 public:
  UnitOrder(const StepUses& uses, const Mesh& mesh) : uses_(uses), mesh_(mesh) {
    for (const StepIndex s : uses.entry().steps.ids()) {
      units_.push_back({s});
      unit_of_.push_back(s.number());
      order_.push_back(s.number());
      position_.push_back(s.number());
    }
  }

  // Joins the units of two steps where the result can be one step.
  void try_to_join(StepIndex s, StepIndex other) {
    int early = unit_of_[s], late = unit_of_[other];
    if (early == late) return;
    if (position_[early] > position_[late]) std::swap(early, late);
    if (position_[late] - position_[early] > 2 * kFarthest) return;
    if (has_copy(units_[late]) && !has_only_copies(units_[early])) return;
    Unit joined;
    const Unit &a = units_[early], &b = units_[late];
    std::merge(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(joined));
    if (joined.size() > kMostMembers || !is_within_reach(joined.front(), joined.back())) return;
    // Units only grow. If both together are as large as when they did not fit, nothing has changed since.
    size_t& unfit = unfit_[{early, late}];
    if (unfit == joined.size()) return;
    if (!can_be_one(a, b, joined)) {
      unfit = joined.size();
      return;
    }
    const std::optional<std::set<int>> between = needed_between(early, late);
    if (!between) return;
    put_first(*between, early, late);
    units_[late].clear();
    for (const StepIndex member : joined) unit_of_[member] = early;
    units_[early] = std::move(joined);
  }

  std::vector<Unit> in_order() const {
    std::vector<Unit> units;
    for (const int u : order_)
      if (!units_[u].empty()) units.push_back(units_[u]);
    return units;
  }

 private:
  // True if one step can do the work of both units, and is worth while.
  bool can_be_one(const Unit& early, const Unit& late, const Unit& joined) const {
    const auto is_needed = [&](ValueId id) { return uses_.is_needed_outside(joined, id); };
    return !keeps_more(early, late, joined) &&
           have_grid(uses_.entry(), uses_.members(joined), is_needed, mesh_);
  }
  bool is_backward(StepIndex s) const { return uses_.step(s).phase == Phase::kBackward; }

  // A step of the backward pass that joins one of the forward pass runs early. This is worth while if its results take
  // the place of what is kept for the backward pass, as the bools of a relu do, but not if they are kept besides.
  bool keeps_more(const Unit& early, const Unit& late, const Unit& joined) const {
    const auto all = [&](const Unit& unit, bool backward) {
      return std::all_of(unit.begin(), unit.end(), [&](StepIndex s) { return is_backward(s) == backward; });
    };
    if (all(early, true) || all(late, false)) return false;
    std::set<ValueId> made, read;
    for (const StepIndex s : late) {
      if (!is_backward(s)) continue;
      made.insert(uses_.step(s).outputs[0]);
      for (const ValueId id : uses_.step(s).inputs) read.insert(root_of(uses_.entry(), id));
    }
    int64_t more = 0, looked_at = 0;
    for (const ValueId id : made)
      if (uses_.is_needed_outside(joined, id)) more += bytes(id);
    for (const ValueId id : read) {
      if (made.count(id) > 0) continue;
      looked_at += bytes(id);
      if (is_freed(id, joined)) more -= bytes(id);
    }
    return more > looked_at / kMuchSmaller;
  }
  // True if the value is made before the backward pass, and no step of it but members of `joined` reads the value.
  bool is_freed(ValueId id, const Unit& joined) const {
    const StepIndex maker = uses_.maker(id);
    if (maker == StepIndex() || uses_.is_kept(id)) return false;
    if (is_backward(maker) && !std::binary_search(joined.begin(), joined.end(), maker)) return false;
    const std::vector<StepIndex>& readers = uses_.readers(id);
    return std::none_of(readers.begin(), readers.end(), [&](StepIndex s) {
      return is_backward(s) && !std::binary_search(joined.begin(), joined.end(), s);
    });
  }
  int64_t bytes(ValueId id) const { return largest_bytes(uses_.entry(), id, mesh_); }

  bool has_copy(const Unit& unit) const {
    return std::any_of(unit.begin(), unit.end(), [&](StepIndex s) { return uses_.is_copy(s); });
  }
  bool has_only_copies(const Unit& unit) const {
    return std::all_of(unit.begin(), unit.end(), [&](StepIndex s) { return uses_.is_copy(s); });
  }

  // The units after `early` that `late` depends on; nothing where one of them depends on `early`.
  std::optional<std::set<int>> needed_between(int early, int late) const {
    std::set<int> found;
    std::vector<int> open = {late};
    while (!open.empty()) {
      const int now = open.back();
      open.pop_back();
      for (const int u : operand_units(now)) {
        if (u == early && now != late) return std::nullopt;
        if (position_[u] > position_[early] && u != now && found.insert(u).second) open.push_back(u);
      }
    }
    return found;
  }

  std::vector<int> operand_units(int u) const {
    std::vector<int> found;
    const auto add = [&](StepIndex s) {
      if (s != StepIndex() && unit_of_[s] != u) found.push_back(unit_of_[s]);
    };
    for (const StepIndex s : units_[u]) {
      for (const ValueId id : uses_.step(s).inputs) add(uses_.maker(id));
      if (const auto* wait = uses_.step(s).as<AwaitCollective>()) add(wait->start);
    }
    return found;
  }

  // Moves the units `needed` before all others from `early` to `late`, so that every unit still comes after
  // those that it depends on once these two are one.
  void put_first(const std::set<int>& needed, int early, int late) {
    const auto begin = order_.begin() + position_[early];
    const auto end = order_.begin() + position_[late] + 1;
    std::stable_partition(begin, end, [&](int u) { return needed.count(u) > 0; });
    for (auto at = begin; at != end; ++at) position_[*at] = static_cast<int>(at - order_.begin());
  }

  const StepUses& uses_;
  const Mesh& mesh_;
  std::vector<Unit> units_;  // empty where the steps have gone to another unit
  PerStep<int> unit_of_;
  std::vector<int> order_;     // of the units, empty ones included
  std::vector<int> position_;  // of each unit in it
  // By two units, the earlier one first: the size of both when they were last found not to fit into one step.
  std::map<std::pair<int, int>, size_t> unfit_;
};

}  // namespace

StepUses::StepUses(const PartitionedEntry& partitioned, bool keep_all)
    : entry_(partitioned.entry), keep_all_(keep_all), uses_(entry_.values.size()) {
  const auto used = [&](ValueId id) -> Uses& { return uses_[root_of(entry_, id)]; };
  for (const StepIndex s : entry_.steps.ids()) {
    const Step& step = entry_.steps[s];
    kinds_.push_back(member_kind(entry_, step));
    copies_.push_back(tensor_name(step.name).ends_with(kAgain));
    for (const ValueId id : step.inputs) used(id).readers.push_back(s);
    if (step.kind() == StepKind::kStart) continue;
    for (const ValueId id : step.outputs) used(id).maker = s;
  }
  for (const Binding& output : entry_.outputs) used(output.value).is_kept = true;
  for (const auto& [variable, fresh] : partitioned.assignments) used(fresh).is_kept = true;
}

std::vector<GridMember> StepUses::members(const Unit& unit) const {
  std::vector<GridMember> found;
  found.reserve(unit.size());
  for (const StepIndex s : unit) found.push_back({&step(s), kinds_[s]});
  return found;
}

const StepUses::Uses& StepUses::uses(ValueId id) const {
  static const Uses kNone;
  const ValueId root = root_of(entry_, id);
  return uses_.has(root) ? uses_[root] : kNone;
}

StepIndex StepUses::maker(ValueId id) const {
  return uses(id).maker;
}

const std::vector<StepIndex>& StepUses::readers(ValueId id) const {
  return uses(id).readers;
}

bool StepUses::is_kept(ValueId id) const {
  return keep_all_ || uses(id).is_kept;
}

bool StepUses::is_needed_outside(const Unit& unit, ValueId id) const {
  if (is_kept(id)) return true;
  const std::vector<StepIndex>& steps = readers(id);
  return std::any_of(steps.begin(), steps.end(),
                     [&](StepIndex s) { return !std::binary_search(unit.begin(), unit.end(), s); });
}

std::vector<Unit> join_steps(const StepUses& uses, const Mesh& mesh) {
  UnitOrder order(uses, mesh);
  for (const StepIndex s : uses.entry().steps.ids()) {
    if (!uses.is_fusible(s)) continue;
    for (const StepIndex other : neighbours(uses, s)) order.try_to_join(s, other);
  }
  return order.in_order();
}

}  // namespace mtfc
