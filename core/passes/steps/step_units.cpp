#include "core/passes/steps/step_units.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "core/program/fused_grid.h"

namespace mtfc {
namespace {

// Steps that are further apart than this are not joined: the inputs of a fused step must be kept until its
// last member can run.
constexpr int kFarthest = 256;
constexpr size_t kMostMembers = 64;

size_t index(int id) {
  return static_cast<size_t>(id);
}

// Fusible steps before `s` that make or read one of its operands.
std::vector<int> neighbours(const StepUses& uses, int s) {
  std::vector<int> found;
  const auto add = [&](int other) {
    if (other >= 0 && other < s && s - other <= kFarthest && uses.is_fusible(other)) found.push_back(other);
  };
  for (const ValueId id : uses.step(s).inputs) {
    const std::vector<int>& readers = uses.readers(id);
    // A number that several steps use must not tie them together.
    const Value& value = uses.entry().values[index(id)];
    if (value.type.dims.empty() && readers.size() > 1) continue;
    add(uses.maker(id));
    for (auto reader = std::lower_bound(readers.begin(), readers.end(), s); reader != readers.begin();)
      if (*--reader >= s - kFarthest)
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
    const int count = static_cast<int>(uses.entry().steps.size());
    for (int s = 0; s < count; ++s) {
      units_.push_back({s});
      unit_of_.push_back(s);
      order_.push_back(s);
      position_.push_back(s);
    }
  }

  // Joins the units of two steps where the result can be one step.
  void try_to_join(int s, int other) {
    int early = unit_of_[index(s)], late = unit_of_[index(other)];
    if (early == late) return;
    if (position_[index(early)] > position_[index(late)]) std::swap(early, late);
    if (position_[index(late)] - position_[index(early)] > 2 * kFarthest) return;
    Unit joined;
    const Unit &a = units_[index(early)], &b = units_[index(late)];
    std::merge(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(joined));
    if (joined.size() > kMostMembers || joined.back() - joined.front() > kFarthest) return;
    const auto is_needed = [&](ValueId id) { return uses_.is_needed_outside(joined, id); };
    if (!find_grid(uses_.entry(), uses_.steps(joined), is_needed, mesh_)) return;
    const std::optional<std::set<int>> between = needed_between(early, late);
    if (!between) return;
    put_first(*between, early, late);
    units_[index(late)].clear();
    for (const int member : joined) unit_of_[index(member)] = early;
    units_[index(early)] = std::move(joined);
  }

  std::vector<Unit> in_order() const {
    std::vector<Unit> units;
    for (const int u : order_)
      if (!units_[index(u)].empty()) units.push_back(units_[index(u)]);
    return units;
  }

 private:
  // The units after `early` that `late` depends on; nothing where one of them depends on `early`.
  std::optional<std::set<int>> needed_between(int early, int late) const {
    std::set<int> found;
    std::vector<int> open = {late};
    while (!open.empty()) {
      const int now = open.back();
      open.pop_back();
      for (const int u : operand_units(now)) {
        if (u == early && now != late) return std::nullopt;
        if (position_[index(u)] > position_[index(early)] && u != now && found.insert(u).second)
          open.push_back(u);
      }
    }
    return found;
  }

  std::vector<int> operand_units(int u) const {
    std::vector<int> found;
    const auto add = [&](int s) {
      if (s >= 0 && unit_of_[index(s)] != u) found.push_back(unit_of_[index(s)]);
    };
    for (const int s : units_[index(u)]) {
      for (const ValueId id : uses_.step(s).inputs) add(uses_.maker(id));
      if (uses_.step(s).kind == StepKind::kWait) add(uses_.step(s).started);
    }
    return found;
  }

  // Moves the units `needed` before all others from `early` to `late`, so that every unit still comes after
  // those that it depends on once these two are one.
  void put_first(const std::set<int>& needed, int early, int late) {
    const auto begin = order_.begin() + position_[index(early)];
    const auto end = order_.begin() + position_[index(late)] + 1;
    std::stable_partition(begin, end, [&](int u) { return needed.count(u) > 0; });
    for (auto at = begin; at != end; ++at) position_[index(*at)] = static_cast<int>(at - order_.begin());
  }

  const StepUses& uses_;
  const Mesh& mesh_;
  std::vector<Unit> units_;    // empty where the steps have gone to another unit
  std::vector<int> unit_of_;   // per step
  std::vector<int> order_;     // of the units, empty ones included
  std::vector<int> position_;  // of each unit in it
};

}  // namespace

StepUses::StepUses(const PartitionedEntry& partitioned, bool keep_all)
    : entry_(partitioned.entry), keep_all_(keep_all) {
  for (size_t i = 0; i < entry_.steps.size(); ++i) {
    const Step& step = entry_.steps[i];
    const std::optional<PartKind> kind = part_kind(entry_, step);
    fusible_.push_back(kind && *kind != PartKind::kConstant);
    for (const ValueId id : step.inputs) readers_[root(id)].push_back(static_cast<int>(i));
    if (step.kind == StepKind::kStart) continue;
    for (const ValueId id : step.outputs) maker_[root(id)] = static_cast<int>(i);
  }
  for (const Binding& output : entry_.outputs) kept_.insert(root(output.value));
  for (const auto& [variable, fresh] : partitioned.assignments) kept_.insert(root(fresh));
}

std::vector<Step> StepUses::steps(const Unit& unit) const {
  std::vector<Step> found;
  for (const int s : unit) found.push_back(step(s));
  return found;
}

bool StepUses::is_constant(int s) const {
  return s >= 0 && step(s).kind == StepKind::kKernel && part_kind(entry_, step(s)) == PartKind::kConstant;
}

int StepUses::maker(ValueId id) const {
  const auto at = maker_.find(root(id));
  return at == maker_.end() ? -1 : at->second;
}

const std::vector<int>& StepUses::readers(ValueId id) const {
  static const std::vector<int> kNone;
  const auto at = readers_.find(root(id));
  return at == readers_.end() ? kNone : at->second;
}

bool StepUses::is_kept(ValueId id) const {
  return keep_all_ || kept_.count(root(id)) > 0;
}

bool StepUses::is_needed_outside(const Unit& unit, ValueId id) const {
  if (is_kept(id)) return true;
  const std::vector<int>& steps = readers(id);
  return std::any_of(steps.begin(), steps.end(),
                     [&](int s) { return !std::binary_search(unit.begin(), unit.end(), s); });
}

std::vector<Unit> join_steps(const StepUses& uses, const Mesh& mesh) {
  UnitOrder order(uses, mesh);
  const int count = static_cast<int>(uses.entry().steps.size());
  for (int s = 0; s < count; ++s) {
    if (!uses.is_fusible(s)) continue;
    for (const int other : neighbours(uses, s)) order.try_to_join(s, other);
  }
  return order.in_order();
}

}  // namespace mtfc
