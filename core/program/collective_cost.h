#pragma once
// The cost of a collective for one device: elements, bytes sent and workspace. Planning (core/program/reshard.h),
// reports (core/cost/cost.h) and the counts of a run (runtime/comm/) all take it from here.
//
//   elements    all_reduce, reduce_scatter, all_to_all: the local input; all_gather: the local output;
//               permute, exchange: what is sent
//   bytes sent  what a bandwidth-optimal algorithm sends: all_reduce 2*(size - smallest share), reduce_scatter
//               and all_gather size - smallest share, the other kinds what is sent. A share is a
//               device's shard of the buffer, for all_reduce its part of the flat elements by the shard
//               formula.
//
//   Of several values that an all_reduce sends together, each counts as if it were alone.
//
// An all_gather of f32 [5] over p:3 has shards of 1, 2 and 2 elements: 5 elements, 4*(5 - 1) bytes sent.

#include <cstdint>

#include "core/program/program.h"
#include "core/tensors/mesh.h"

namespace mtfc {

/// `unit_bytes`: bytes of what `amounts` counts, normally of an element.
CollectiveCost collective_cost(CollectiveKind kind, const CollectiveAmounts& amounts, int64_t unit_bytes);

/// The cost of the collective that `step` starts, on the device at `at`.
CollectiveCost collective_cost(const EntryPoint& entry, const Step& step, const Mesh& mesh,
                               const Coordinates& at);

/// The largest cost of the collective that `step` starts, over all devices.
CollectiveCost largest_collective_cost(const EntryPoint& entry, const Step& step, const Mesh& mesh);

/// The same, of `collective` where it moves a tensor of this dtype from one sharding to another. It is an all_gather or
/// a reduce_scatter.
CollectiveCost largest_gather_cost(const Collective& collective, const Resharding& change, DType dtype);

/// The elements that the busiest device sends if `collective` makes `change`, for planning: the same number as
/// largest_collective_cost() gives, but a bound on it where more than some 100 devices may send different numbers.
int64_t planned_elements_sent(const Collective& collective, const Resharding& change);

/// True for the start and the wait of an all_reduce of several values. Its operands are packed one behind another into
/// its workspace, reduced there as one value, and unpacked into the results.
bool is_combined(const Step& step);

/// Scratch bytes that packing for a collective (a kStart or kWait step) needs on any device: what it may
/// send, and what it may receive.
int64_t collective_workspace(const EntryPoint& entry, const Step& step, const Mesh& mesh);

}  // namespace mtfc
