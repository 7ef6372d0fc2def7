#pragma once
// What a collective means for one device: which elements go to and come from each member of its group.
//
// A plan is data, made from the program alone, so that it can be made and tested without MPI for any device
// of any mesh. Both implementations of Comm execute these plans. The group is the devices that differ from
// this one only on the step's axes; a member's index is its row-major position along them.
//
//   all_gather of [5] over p:3     member 0 holds [0,1)  member 1 [1,3)  member 2 [3,5)
//   receives on every member       {from 0, to 0, length 1} {from 0, to 1, length 2} {from 0, to 3, length 2}

#include <cstdint>
#include <vector>

#include "core/program/collective_cost.h"
#include "core/program/program.h"
#include "core/tensors/mesh.h"
#include "core/tensors/relayout.h"
#include "runtime/memory/runs.h"

namespace mtfc {

/// Where a value lies in the arena, and what of the global tensor it is.
struct Place {
  TensorType type;  // global
  Box box;
  int64_t offset = 0;  // bytes, in the arena
  int64_t elements() const { return mtfc::elements(box); }
};
Place place_of(const EntryPoint& entry, ValueId value, const Mesh& mesh, const Coordinates& at);

struct CollectivePlan {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  ReduceKind reduce = ReduceKind::kSum;
  DType dtype = DType::kF32;
  AxisList axes;                 // of the group
  std::vector<int64_t> ranks;    // of the members, by index
  size_t self = 0;               // this device's index
  Place input, output;           // input: the first, where there are several
  int64_t workspace_offset = 0;  // bytes, in the arena
  int64_t workspace_bytes = 0;   // granted
  // Per member. `from` counts in the sender's input region, `to` in the receiver's output region, both in
  // elements; those of a further input lie beyond the first, by the distance of the two in the arena. The
  // order of runs is equal on both sides, so that packed runs need no description. Empty for an all_reduce;
  // in a reduce_scatter every member sends, and what arrives is reduced.
  std::vector<std::vector<Run>> sends;
  std::vector<std::vector<Run>> receives;
  /// Several members end with the same piece of a reduce_scatter.
  bool replicated = false;
  /// An element that the output is filled with before anything arrives; empty where all of it arrives.
  std::vector<std::byte> fill;

  bool in_place() const { return input.offset == output.offset; }
};

/// The plan of the collective that `step` starts, for the device at `at`. Throws InternalError where the
/// output needs an element that no member holds.
CollectivePlan plan_collective(const EntryPoint& entry, const Step& step, const Mesh& mesh,
                               const Coordinates& at);

/// Elements that the plan's runs move to members other than this one.
int64_t sent_elsewhere(const CollectivePlan& plan);
/// What executing the plan once moves, counted from its runs by the definitions of
/// core/program/collective_cost.h.
CollectiveCost moved_by(const CollectivePlan& plan);

/// The local move of a kSlice step: runs from the input region to the output region that cover all of the
/// output.
std::vector<Run> plan_slice(const Place& input, const Place& output);

}  // namespace mtfc
