#pragma once
// The plan of a collective for one device: which elements go to and come from each member of its group.
//
// A plan is data and depends on the program alone, so it can be made and tested without MPI, for any device
// of any mesh. Both implementations of Comm execute these plans. The group is the set of devices that differ
// from this one only on the step's axes; a member's index is its row-major position along them.
//
//   all_gather of [5] over p:3     member 0 holds [0,1)  member 1 [1,3)  member 2 [3,5)
//   receives on every member       {from 0, to 0, length 1} {from 0, to 1, length 2} {from 0, to 3, length 2}

#include <cstdint>
#include <vector>

#include "core/program/collective_cost.h"
#include "core/program/program.h"
#include "core/tensors/mesh.h"
#include "core/tensors/relayout.h"
#include "runtime/memory/arena.h"
#include "runtime/memory/runs.h"

namespace mtfc {

/// The place of a value in the arena, and the box of the global tensor that it holds.
struct Place {
  TensorType type;  // global
  Box box;
  int64_t offset = 0;  // bytes, in the arena
  int64_t elements() const { return mtfc::elements(box); }
};
Place place_of(const EntryPoint& entry, ValueId value, const Mesh& mesh, const Coordinates& at);

/// A value of an all_reduce of several. Offsets and bytes count in the arena.
struct PackedPart {
  int64_t operand = 0, result = 0;  // where they are
  int64_t packed = 0;               // where the value is in the workspace
  int64_t bytes = 0;
};

struct CollectivePlan {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  ReduceKind reduce = ReduceKind::kSum;
  DType dtype = DType::kF32;
  AxisList axes;                 // axes that span the group
  std::vector<int64_t> ranks;    // ranks of the members, by index
  size_t self = 0;               // this device's index
  Place input, output;           // `input` is the first one if there are several
  int64_t workspace_offset = 0;  // bytes, in the arena
  int64_t workspace_bytes = 0;   // granted by the plan
  // Indexed by member. `from` counts elements in the sender's input region, `to` in the receiver's output
  // region; the elements of a further input lie beyond the first one, by the distance of the two inputs in
  // the arena. The order of runs is the same on both sides, so packed runs need no description. Both are
  // empty if elements keep their places (an all_reduce). If the collective reduces, every member sends, and
  // arriving elements are reduced.
  std::vector<std::vector<Run>> sends;
  std::vector<std::vector<Run>> receives;
  // The values of an all_reduce of several: their elements lie one behind another in `input`, which is `output` too,
  // while it is under way. Empty for any other collective.
  std::vector<PackedPart> parts;
  /// True if several members end with the same piece of a result that is reduced and scattered.
  bool replicated = false;
  /// The element that the output is filled with before anything arrives; empty if all of the output arrives.
  std::vector<std::byte> fill;

  bool in_place() const { return input.offset == output.offset; }
  /// The elements of an all_reduce of which this device sends one copy less than of the others: its part of each value.
  int64_t flat_share() const;
};

/// The plan of the collective that `step` starts, for the device at `at`. Throws InternalError if the output
/// needs an element that no member holds.
CollectivePlan plan_collective(const EntryPoint& entry, const Step& step, const Mesh& mesh,
                               const Coordinates& at);

/// Copies the operands of an all_reduce of several values into its workspace.
void pack(const std::vector<PackedPart>& parts, const Arena& arena);
/// Copies the results out of the workspace.
void unpack(const std::vector<PackedPart>& parts, const Arena& arena);

/// The elements that the plan's runs move to members other than this one.
int64_t sent_elsewhere(const CollectivePlan& plan);
/// The traffic of executing the plan once, counted from its runs by the definitions of
/// core/program/collective_cost.h.
CollectiveCost moved_by(const CollectivePlan& plan);

/// The local move of a kSlice step: runs from the input region to the output region that cover the whole
/// output.
std::vector<Run> plan_slice(const Place& input, const Place& output);

}  // namespace mtfc
