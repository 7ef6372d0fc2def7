#pragma once
// "Each rank needs this region of that global tensor": the one question behind slice, all_gather, all_to_all,
// reshape and exchange.
//
// A relayout takes the elements of a tensor from one sharding (and shape) to another; both shapes list the
// same elements in the same row-major order. The shapes are factored from the left into groups of equal size,
// so that [a16,b8] -> [c4,d4,e8] is {a}->{c,d} and {b}->{e}, and regions intersect group by group.

#include <cstdint>
#include <vector>

#include "core/tensors/mesh.h"
#include "core/tensors/shape.h"
#include "core/tensors/sharding.h"

namespace mtfc {

/// Dimensions [from_begin, from_end) of the source and [to_begin, to_end) of the destination have equal
/// products, and no smaller prefix of them has.
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

/// `length` consecutive elements at `from` in the source region and at `to` in the destination region, both
/// counted in the row-major order of the region itself.
/// Where a step is not 1 they are so far apart instead.
struct Run {
  int64_t from = 0;
  int64_t to = 0;
  int64_t length = 0;
  int64_t from_step = 1;
  int64_t to_step = 1;
  bool is_contiguous() const { return from_step == 1 && to_step == 1; }
};

/// The elements that both regions hold, in ascending order of the destination. `from` is a region of shape
/// `from_dims`, `to` of `to_dims`.
std::vector<Run> common_runs(const Dims& from_dims, const Box& from, const Dims& to_dims, const Box& to);
/// How many elements that are, without listing them.
int64_t common_elements(const Dims& from_dims, const Box& from, const Dims& to_dims, const Box& to);

/// The destination sharding that the source's gives for free, device by device, if there is one that holds
/// exactly the same elements: the axes of a group's leading dimension carry over where they divide it evenly.
/// Example: [a16/r] -> [c4,d4] with r:2 is [c4/r,d4]; [a15/r] -> [c5,d3] has none.
bool carries(const Dims& from_dims, const Sharding& from, const Dims& to_dims, const Mesh& mesh,
             Sharding& to);

/// Axes along which elements must move: those that split the source and are not matched by the destination.
/// A device needs nothing from devices that differ from it on another axis. Ascending.
AxisList moving_axes(const Relayout& relayout, const Mesh& mesh);

}  // namespace mtfc
