#pragma once
// The units of steps that `fuse` makes one. A unit is joined with another while one fused step can do the
// work of both (core/program/fused_grid.h) and no step between them depends on the earlier one and is needed
// by the later one; the others are moved before or after the joined unit. A tensor that is made
// again (kAgain) is made as late as it is needed: its step joins no earlier unit except other such steps.
//
//   0 h = add(x, b)   1 start r(g)   2 y = relu(h)   3 wait r        units {0, 2}, {1}, {3}

#include <optional>
#include <vector>

#include "core/program/fused_grid.h"
#include "core/program/partitioned_entry.h"

namespace mtfc {

/// Steps that become one, ascending.
using Unit = std::vector<StepIndex>;

/// Knows the step that makes a value and the steps that read it. An alias counts as its value.
class StepUses {
 public:
  /// Refers to the entry point. Values may be added to it. Its steps must stay as they are until they have been asked
  /// for.
  /// `keep_all`: every value comes out of the entry point.
  StepUses(const PartitionedEntry& partitioned, bool keep_all);

  const EntryPoint& entry() const { return entry_; }
  const Step& step(StepIndex s) const { return entry_.steps[s]; }
  std::vector<GridMember> members(const Unit& unit) const;
  bool keeps_all() const { return keep_all_; }
  /// True if the step can be a member of a fused step. Constants are not: they are repeated in it.
  bool is_fusible(StepIndex s) const { return kinds_[s] && !is_constant(s); }
  bool is_constant(StepIndex s) const { return kinds_.has(s) && kinds_[s] == MemberKind::kConstant; }
  /// True if the step makes something again (kAgain).
  bool is_copy(StepIndex s) const { return copies_[s]; }
  /// The step that makes the value, the wait for that of a collective, or StepIndex().
  StepIndex maker(ValueId id) const;
  /// The steps that read the value, ascending.
  const std::vector<StepIndex>& readers(ValueId id) const;
  /// True if the value comes out of the entry point, as an output or as the new value of a variable.
  bool is_kept(ValueId id) const;
  /// True if the value is kept, or if a step that is not in `unit` reads it.
  bool is_needed_outside(const Unit& unit, ValueId id) const;

 private:
  struct Uses {
    StepIndex maker = {};
    std::vector<StepIndex> readers = {};
    bool is_kept = false;
  };
  // The uses of the value with all its aliases.
  const Uses& uses(ValueId id) const;

  const EntryPoint& entry_;
  bool keep_all_;
  PerStep<std::optional<MemberKind>> kinds_;
  PerStep<bool> copies_;
  PerValue<Uses> uses_;  // of roots; those of aliases are empty
};

/// All steps of the entry point in units, each after those that it depends on.
std::vector<Unit> join_steps(const StepUses& uses, const Mesh& mesh);

}  // namespace mtfc
