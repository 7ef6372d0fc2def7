#include "core/passes/steps/fuse.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "core/diagnostics/error.h"
#include "core/program/fused_grid.h"

namespace mtfc {
namespace {

// A step that a part depends on and that is further away than this stays by itself: what a fused step reads
// must be kept until its last part can run.
constexpr int kFarthest = 256;
constexpr size_t kMostParts = 64;

// Steps that become one, ascending; empty where they have gone to another unit.
using Unit = std::vector<int>;

class Fuser {
 public:
  Fuser(PartitionedEntry& partitioned, bool keep_all, const Mesh& mesh)
      : entry_(partitioned.entry), partitioned_(partitioned), keep_all_(keep_all), mesh_(mesh) {}

  void run() {
    take_stock();
    for (int s = 0; s < count(); ++s) {
      if (!fusible_[index(s)]) continue;
      for (const int other : neighbours(s)) try_to_join(s, other);
    }
    rewrite();
  }

 private:
  static size_t index(int id) { return static_cast<size_t>(id); }
  int count() const { return static_cast<int>(entry_.steps.size()); }
  const Step& step(int s) const { return entry_.steps[index(s)]; }
  const Value& value(ValueId id) const { return entry_.values[index(id)]; }
  ValueId root(ValueId id) const { return root_of(entry_, id); }
  const Unit& unit(int s) const { return units_[index(unit_of_[index(s)])]; }

  void take_stock() {
    for (Step& step : entry_.steps)
      for (ValueId& id : step.inputs)
        if (value(id).type == value(root(id)).type && value(id).sharding == value(root(id)).sharding)
          id = root(id);
    for (int s = 0; s < count(); ++s) {
      const std::optional<PartKind> kind = part_kind(entry_, step(s));
      fusible_.push_back(kind && *kind != PartKind::kConstant);
      units_.push_back({s});
      unit_of_.push_back(s);
      order_.push_back(s);
      place_.push_back(s);
      for (const ValueId id : step(s).inputs) readers_[root(id)].push_back(s);
      if (step(s).kind == StepKind::kStart) continue;
      for (const ValueId id : step(s).outputs) maker_[root(id)] = s;
    }
    for (const Binding& output : entry_.outputs) kept_.insert(root(output.value));
    for (const auto& [variable, fresh] : partitioned_.assignments) kept_.insert(root(fresh));
  }

  int maker(ValueId id) const {
    const auto at = maker_.find(root(id));
    return at == maker_.end() ? -1 : at->second;
  }
  bool is_constant(int s) const {
    return s >= 0 && step(s).kind == StepKind::kKernel && part_kind(entry_, step(s)) == PartKind::kConstant;
  }

  // Fusible steps before `s` that make or read what it reads.
  std::vector<int> neighbours(int s) const {
    std::vector<int> found;
    const auto add = [&](int other) {
      if (other >= 0 && other < s && s - other <= kFarthest && fusible_[index(other)]) found.push_back(other);
    };
    for (const ValueId id : step(s).inputs) {
      const std::vector<int>& readers = readers_.at(root(id));
      // A number that several steps use must not tie them together.
      if (value(id).type.dims.empty() && readers.size() > 1) continue;
      add(maker(id));
      for (auto reader = std::lower_bound(readers.begin(), readers.end(), s); reader != readers.begin();)
        if (*--reader >= s - kFarthest)
          add(*reader);
        else
          break;
    }
    return found;
  }

  void try_to_join(int s, int other) {
    int early = unit_of_[index(s)], late = unit_of_[index(other)];
    if (early == late) return;
    if (place_[index(early)] > place_[index(late)]) std::swap(early, late);
    Unit joined;
    const Unit &a = units_[index(early)], &b = units_[index(late)];
    std::merge(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(joined));
    if (joined.size() > kMostParts || joined.back() - joined.front() > kFarthest) return;
    if (place_[index(late)] - place_[index(early)] > 2 * kFarthest) return;
    if (!find_grid(
            entry_, parts_of(joined), [&](ValueId id) { return is_needed(joined, id); }, mesh_))
      return;
    const std::optional<std::set<int>> between = needed_between(early, late);
    if (!between) return;
    put_before(*between, early, late);
    units_[index(late)].clear();
    for (const int member : joined) unit_of_[index(member)] = early;
    units_[index(early)] = std::move(joined);
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
        if (place_[index(u)] > place_[index(early)] && u != now && found.insert(u).second) open.push_back(u);
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
      for (const ValueId id : step(s).inputs) add(maker(id));
      if (step(s).kind == StepKind::kWait) add(step(s).started);
    }
    return found;
  }

  // Keeps every unit after those it depends on, once `early` and `late` are one: what `late` needs comes
  // first.
  void put_before(const std::set<int>& needed, int early, int late) {
    const auto begin = order_.begin() + place_[index(early)], end = order_.begin() + place_[index(late)] + 1;
    std::stable_partition(begin, end, [&](int u) { return needed.count(u) > 0; });
    for (auto at = begin; at != end; ++at) place_[index(*at)] = static_cast<int>(at - order_.begin());
  }

  std::vector<Step> parts_of(const Unit& unit) const {
    std::vector<Step> parts;
    for (const int s : unit) parts.push_back(step(s));
    return parts;
  }

  bool is_needed(const Unit& unit, ValueId id) const {
    if (kept_.count(root(id)) > 0 || keep_all_) return true;
    const auto readers = readers_.find(root(id));
    return readers != readers_.end() &&
           std::any_of(readers->second.begin(), readers->second.end(),
                       [&](int s) { return !std::binary_search(unit.begin(), unit.end(), s); });
  }

  void rewrite() {
    std::vector<Step> steps;
    std::vector<int> place(index(count()), -1);
    for (const int u : order_) {
      const Unit& joined = units_[index(u)];
      if (joined.empty() || (is_constant(joined[0]) && !is_read_by_others(joined[0]))) continue;
      place[index(joined[0])] = static_cast<int>(steps.size());
      steps.push_back(is_fused(joined) ? fused(joined) : step(joined[0]));
      if (steps.back().kind == StepKind::kWait) steps.back().started = place[index(steps.back().started)];
    }
    entry_.steps = std::move(steps);
  }

  // Steps that become one, or one that has its constants with it.
  bool is_fused(const Unit& joined) const {
    if (joined.size() > 1) return true;
    if (!fusible_[index(joined[0])] || keep_all_) return false;
    Unit with_constants;
    for (const ValueId id : step(joined[0]).inputs)
      if (is_constant(maker(id)) && (with_constants.empty() || with_constants.back() != maker(id)))
        with_constants.push_back(maker(id));
    if (with_constants.empty()) return false;
    with_constants.push_back(joined[0]);
    return find_grid(
               entry_, parts_of(with_constants), [&](ValueId id) { return id == step(joined[0]).outputs[0]; },
               mesh_)
        .has_value();
  }

  // Whether the constant made by step `s` is used outside of fused steps.
  bool is_read_by_others(int s) const {
    const ValueId id = step(s).outputs[0];
    if (kept_.count(root(id)) > 0 || keep_all_) return true;
    const auto readers = readers_.find(root(id));
    return readers != readers_.end() && std::any_of(readers->second.begin(), readers->second.end(),
                                                    [&](int reader) { return !is_fused(unit(reader)); });
  }

  Step fused(const Unit& joined) {
    Step whole;
    whole.kind = StepKind::kFused;
    std::vector<Step> parts = parts_of(joined);
    if (!keep_all_) repeat_constants(parts);
    const std::optional<FusedGrid> grid = find_grid(
        entry_, parts, [&](ValueId id) { return is_needed(joined, id); }, mesh_);
    check_invariant(grid.has_value(), "what was to be fused does not fit together");
    std::set<ValueId> made;
    for (const int p : grid->order) {
      const Step& part = parts[index(p)];
      for (const ValueId id : part.inputs)
        if (made.count(id) == 0 &&
            std::find(whole.inputs.begin(), whole.inputs.end(), id) == whole.inputs.end())
          whole.inputs.push_back(id);
      made.insert(part.outputs[0]);
      if (part.op->family != Family::kGenerator && is_needed(joined, part.outputs[0]))
        whole.outputs.push_back(part.outputs[0]);
      whole.parts.push_back(part);
    }
    const Step& last = step(joined.back());
    whole.name = last.name;
    whole.source = last.source;
    whole.phase = last.phase;
    return whole;
  }

  // Gives `parts` constants of their own in place of those that steps make.
  void repeat_constants(std::vector<Step>& parts) {
    std::vector<Step> constants;
    std::map<ValueId, ValueId> own;
    for (Step& part : parts)
      for (ValueId& id : part.inputs) {
        const int s = maker(id);
        if (!is_constant(s)) continue;
        const auto [known, added] = own.emplace(id, static_cast<ValueId>(entry_.values.size()));
        if (added) {
          constants.push_back(step(s));
          constants.back().outputs = {known->second};
          entry_.values.push_back(value(id));
          entry_.values.back().from_model = false;
          partitioned_.variable_of.push_back(-1);
        }
        id = known->second;
      }
    parts.insert(parts.begin(), constants.begin(), constants.end());
  }

  EntryPoint& entry_;
  PartitionedEntry& partitioned_;
  bool keep_all_;
  const Mesh& mesh_;
  std::vector<bool> fusible_;
  std::vector<Unit> units_;
  std::vector<int> unit_of_;
  std::vector<int> order_;                       // units, each after those it depends on
  std::vector<int> place_;                       // of each unit in it
  std::map<ValueId, std::vector<int>> readers_;  // of roots, ascending
  std::map<ValueId, int> maker_;                 // of roots
  std::set<ValueId> kept_;                       // roots
};

}  // namespace

PartitionedEntry fuse(PartitionedEntry partitioned, bool keep_all, const Mesh& mesh) {
  Fuser(partitioned, keep_all, mesh).run();
  return partitioned;
}

}  // namespace mtfc
