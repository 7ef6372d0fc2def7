#include "core/lower/fuse.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "core/diagnostics/error.h"
#include "core/lower/step_units.h"
#include "core/program/fused_grid.h"
#include "core/program/renumber.h"

namespace mtfc {
namespace {

// The entry with steps that read the value itself in the place of an alias of the same type and sharding.
PartitionedEntry without_needless_aliases(PartitionedEntry partitioned) {
  EntryPoint& entry = partitioned.entry;
  for (Step& step : entry.steps)
    for (ValueId& id : step.inputs) {
      const ValueId root = root_of(entry, id);
      const Value &alias = entry.values[id], &value = entry.values[root];
      if (alias.type == value.type && alias.sharding == value.sharding) id = root;
    }
  return partitioned;
}

// True if the unit becomes a fused step. It has several steps, or its only step takes its constants in.
bool is_fused(const StepUses& uses, const Unit& unit, const Mesh& mesh) {
  if (unit.size() > 1) return true;
  const StepIndex s = unit[0];
  if (!uses.is_fusible(s) || uses.keeps_all()) return false;
  Unit with_constants;
  for (const ValueId id : uses.step(s).inputs) {
    const StepIndex maker = uses.maker(id);
    if (uses.is_constant(maker) && (with_constants.empty() || with_constants.back() != maker))
      with_constants.push_back(maker);
  }
  if (with_constants.empty()) return false;
  with_constants.push_back(s);
  const auto is_needed = [&](ValueId id) { return id == uses.step(s).outputs[0]; };
  return have_grid(uses.entry(), uses.members(with_constants), is_needed, mesh);
}

// `members` with constants of their own before them, in the place of those that steps make. Adds the values
// of these to the entry.
std::vector<Step> with_own_constants(PartitionedEntry& partitioned, const StepUses& uses,
                                     std::vector<Step> members) {
  PerValue<Value>& values = partitioned.entry.values;
  std::vector<Step> constants;
  std::map<ValueId, ValueId> own;
  for (Step& member : members)
    for (ValueId& id : member.inputs) {
      const StepIndex s = uses.maker(id);
      if (!uses.is_constant(s)) continue;
      const auto [known, added] = own.emplace(id, ValueId(values.size()));
      if (added) {
        constants.push_back(uses.step(s));
        constants.back().outputs = {known->second};
        Value value = values[id];
        value.from_model = false;
        values.push_back(std::move(value));
        partitioned.variable_of.push_back(-1);
      }
      id = known->second;
    }
  members.insert(members.begin(), constants.begin(), constants.end());
  return members;
}

// One step that does the work of the unit, whose steps are moved into it. Adds the values of the constants in it to the
// entry.
Step fused_step(PartitionedEntry& partitioned, const StepUses& uses, const Unit& unit, const Mesh& mesh) {
  const Step& last = uses.step(unit.back());
  Step fused;
  fused.name = last.name;
  fused.source = last.source;
  fused.phase = last.phase;
  std::vector<Step> members;
  members.reserve(unit.size());
  for (const StepIndex s : unit) members.push_back(std::move(partitioned.entry.steps[s]));
  if (!uses.keeps_all()) members = with_own_constants(partitioned, uses, std::move(members));
  const auto is_needed = [&](ValueId id) { return uses.is_needed_outside(unit, id); };
  std::vector<GridMember> of_grid;
  for (const Step& member : members) of_grid.push_back({&member, member_kind(uses.entry(), member)});
  const std::optional<FusedGrid> grid = find_grid(uses.entry(), of_grid, is_needed, mesh);
  check_invariant(grid.has_value(), "what was to be fused does not fit together");

  RunFused ordered;
  std::set<ValueId> made;
  for (const int p : grid->order) {
    Step& member = members[static_cast<size_t>(p)];
    for (const ValueId id : member.inputs) {
      const bool is_known = std::find(fused.inputs.begin(), fused.inputs.end(), id) != fused.inputs.end();
      if (made.count(id) == 0 && !is_known) fused.inputs.push_back(id);
    }
    made.insert(member.outputs[0]);
    if (member.op()->family != Family::kGenerator && is_needed(member.outputs[0]))
      fused.outputs.push_back(member.outputs[0]);
    ordered.members.push_back(std::move(member));
  }
  fused.action = std::move(ordered);
  return fused;
}

// Says for every unit whether it can go: it makes a constant, and only fused steps use it, which have one of
// their own.
std::vector<bool> needless_units(const StepUses& uses, const std::vector<Unit>& units,
                                 const std::vector<bool>& fuses) {
  PerStep<size_t> unit_of(uses.entry().steps.size());
  for (size_t u = 0; u < units.size(); ++u)
    for (const StepIndex s : units[u]) unit_of[s] = u;
  std::vector<bool> needless;
  for (const Unit& unit : units) {
    const StepIndex s = unit[0];
    bool drops = uses.is_constant(s) && !uses.is_kept(uses.step(s).outputs[0]);
    if (drops)
      for (const StepIndex reader : uses.readers(uses.step(s).outputs[0]))
        drops = drops && fuses[unit_of[reader]];
    needless.push_back(drops);
  }
  return needless;
}

}  // namespace

PartitionedEntry fuse(PartitionedEntry partitioned, bool keep_all, const Mesh& mesh) {
  partitioned = without_needless_aliases(std::move(partitioned));
  const StepUses uses(partitioned, keep_all);
  const std::vector<Unit> units = join_steps(uses, mesh);
  std::vector<bool> fuses;
  for (const Unit& unit : units) fuses.push_back(is_fused(uses, unit, mesh));
  const std::vector<bool> needless = needless_units(uses, units, fuses);

  // Steps that make constants are copied into fused steps before they are moved themselves.
  for (size_t u = 0; u < units.size(); ++u)
    if (fuses[u]) partitioned.entry.steps[units[u][0]] = fused_step(partitioned, uses, units[u], mesh);
  PerStep<Step> steps;
  PerStep<StepIndex> positions(partitioned.entry.steps.size());
  for (size_t u = 0; u < units.size(); ++u)
    if (!needless[u]) positions[units[u][0]] = steps.add(std::move(partitioned.entry.steps[units[u][0]]));
  for (Step& step : steps) renumber(step, positions);
  partitioned.entry.steps = std::move(steps);
  return partitioned;
}

}  // namespace mtfc
