#pragma once
// Relayouts: which elements each device must get from which other one. Slices, all_gather, all_to_all,
// reshape and exchange all come down to the question "which elements of that region of a tensor are in this
// one?"
//
// A relayout takes the elements of a tensor from one sharding (and shape) to another; both shapes list the
// same elements in the same row-major order. The shapes are factored from the left into groups of equal size,
// and regions are intersected group by group. Example: [a16,b8] -> [c4,d4,e8] has the groups {a}->{c,d} and
// {b}->{e}.

#include <cstdint>
#include <vector>

#include "core/tensors/mesh.h"
#include "core/tensors/shape.h"
#include "core/tensors/sharding.h"

namespace mtfc {

/// Dimensions [from_begin, from_end) of the source and [to_begin, to_end) of the destination. Both have the
/// same product of sizes, and no smaller prefixes of them do.
struct ReshapeGroup {
  size_t from_begin, from_end, to_begin, to_end;
};
std::vector<ReshapeGroup> reshape_groups(const Dims& from, const Dims& to);

struct Relayout {
  Dims from_dims;
  Sharding from;  // nothing partial
  Dims to_dims;
  Sharding to;  // nothing partial
};

/// `length` elements, the i-th at `from + i*from_step` in the source region and at `to + i*to_step` in the
/// destination region. Both are counted in the row-major order of the region itself.
struct Run {
  int64_t from = 0;
  int64_t to = 0;
  int64_t length = 0;
  int64_t from_step = 1;
  int64_t to_step = 1;
  bool is_contiguous() const { return from_step == 1 && to_step == 1; }
};

/// The elements that both regions hold, as runs in ascending order of the destination. `from` is a region of
/// `from_dims`, `to` one of `to_dims`.
std::vector<Run> common_runs(const Dims& from_dims, const Box& from, const Dims& to_dims, const Box& to);
/// The number of elements that common_runs() lists, without listing them.
int64_t common_elements(const Dims& from_dims, const Box& from, const Dims& to_dims, const Box& to);
/// The factor that one of the groups contributes to that number.
int64_t common_elements(const Dims& from_dims, const Box& from, const Dims& to_dims, const Box& to,
                        const ReshapeGroup& group);

/// Sets `to` to the sharding of the destination under which every device already holds its elements, and
/// returns true; returns false if there is none. Axes that divide a group evenly move to the dimensions of the
/// destination that take their digits. With r:2,s:2: [a16/r] -> [c4,d4] gives [c4/r,d4]; [a8/r+s] -> [c2,d4] gives
/// [c2/r,d4/s]; [a15/r] -> [c5,d3] gives none.
bool carries(const Dims& from_dims, const Sharding& from, const Dims& to_dims, const Mesh& mesh,
             Sharding& to);

/// The axes along which elements must move, ascending: those that split the source and are not matched by the
/// destination. A device needs nothing from devices that differ from it on any other axis. Windows may split the
/// destination, but not the source.
AxisList moving_axes(const Relayout& relayout, const Mesh& mesh);

}  // namespace mtfc
