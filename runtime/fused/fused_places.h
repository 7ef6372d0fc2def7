#pragma once
// The places where members of a fused step find their operands and put their results. This is planned between
// the shape of the work (runtime/fused/fused_work.h) and its instructions (runtime/fused/fused_plan.h).
//
// Values that stay within the step lie in scratch memory. A tile that no later member needs is used again.

#include <optional>
#include <vector>

#include "runtime/fused/fused_plan.h"
#include "runtime/fused/fused_work.h"

namespace mtfc {

struct OperandPlace {
  enum class Access {
    kInPlace,
    kGathered,  // brought into the order of the grid
    kRepeated,  // along the rows or columns that it doesn't have
  };
  ValueId source = kNoValue;  // whose elements are read
  Access access = Access::kInPlace;
  TilePlace stored = {};     // the source's own, but for kGathered
  TilePlace place = {};      // where the member reads
  bool is_prepared = false;  // by a member before, which gathered or repeated the same for this one too
};

struct MemberPlaces {
  std::vector<OperandPlace> operands;
  TilePlace accumulators = {};  // of a reduction; in the shared memory the offset is in a set
  TilePlace result = {};
  bool is_streamed = false;  // the result goes from there to the memory of the step's result, past the cache
};

struct FusedPlaces {
  std::vector<MemberPlaces> members;  // nothing is set for a view
  FusedMemory memory;
};

FusedPlaces place_values(const FusedWork& work);

}  // namespace mtfc
