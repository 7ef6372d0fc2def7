#pragma once
// A fused step on one device, as planning sees it: its members, how each of them works on the grid, who reads
// what they make, and the blocks that the device cuts its shard of the grid into. Made once, never changed;
// runtime/fused/fused_places.h and runtime/fused/fused_plan.h follow from it.
//
//   a softmax of f32 x[4, 1000], tiles of 1024 elements: 4 rows, 1000 columns, one row per block
//     reduce_max   works through elements, makes rows, stage 0
//     sub          works through elements, makes elements, stage 1
//     ...

#include <cstdint>
#include <map>
#include <vector>

#include "core/program/fused_grid.h"
#include "runtime/fused/fused_plan.h"

namespace mtfc {

struct FusedMember {
  const Step& step;
  MemberKind kind;
  Extent worked;  // of its result, or of the operand that it reduces
  Extent made;    // of its result
  int stage;
  TileReduction reduction = {};  // of kReduction

  ValueId result() const { return step.outputs[0]; }
};

/// The last use of a value. Both are -1 if it is never used.
struct LastUse {
  int member = -1;
  int stage = -1;
};

struct FusedWork {
  const EntryPoint& entry;
  const Step& step;
  const Mesh& mesh;
  const Coordinates& at;
  FusedGrid grid;
  Box box;  // of the grid, on this device
  BlockShape blocks;
  int64_t tile = 0;  // elements that a tile has room for
  std::vector<FusedMember> members = {};
  std::map<ValueId, ValueId> views =
      {};  // broadcasts that stay within the step, and what each of them repeats
  std::map<ValueId, LastUse> last_uses = {};

  const Value& value(ValueId id) const { return entry.values[id]; }
  LocalTensor local(ValueId id) const { return local_tensor(value(id), mesh, at); }
  Extent extent(ValueId id) const { return grid.extent(value(id).type.dims); }
  int64_t element_bytes(ValueId id) const { return size_of(value(id).type.dtype); }
  /// True if the value leaves the step.
  bool is_result(ValueId id) const;
  /// The value that is read in place of `id`: itself, unless it is a view.
  ValueId source(ValueId id) const;
  LastUse last_use(ValueId id) const;
  /// The location of an input or output of the step that lies in the order of the grid.
  TilePlace stored_operand(ValueId id) const;
  TilePlace stored_result(ValueId id) const;
};

/// `tile` is how many elements a tile should have. The references must outlive what is returned.
FusedWork fused_work(const EntryPoint& entry, const Step& step, const Mesh& mesh, const Coordinates& at,
                     int64_t tile);

}  // namespace mtfc
