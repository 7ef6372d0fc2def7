#pragma once
// Resharding: the moves that take a tensor from one sharding to another, and the bytes that they send.
//
// Moves are made in this order: slices first (they are free and make the rest smaller); then reductions, by
// reduce_scatter if the result is split over the axis anyway; then one collective. That is an all_gather of
// minor axes, an all_to_all of minor axes that go to other dimensions (several at once: {b/rows+cols} ->
// {e/rows, m/cols} is one message), or else an exchange of exact regions. Example over rows:2,cols:2:
// {b/rows} -> {b, c/cols} is a slice to {b/rows, c/cols}, then an all_gather over rows.

#include <cstdint>
#include <optional>
#include <vector>

#include "core/program/program.h"
#include "core/tensors/mesh.h"
#include "core/tensors/sharding.h"

namespace mtfc {

struct Move {
  std::optional<Collective> collective;  // nothing where each device keeps a part of what it holds: a slice
  Sharding to;                           // the sharding after the move
};

/// The moves from one sharding to the other. The partial axes of `to` must be partial in `from`, too.
std::vector<Move> plan_reshard(const Dims& dims, const Sharding& from, const Sharding& to, const Mesh& mesh);

/// The criteria by which plans are compared: bytes sent per device (from largest shards), then the number of
/// collectives.
struct MoveCost {
  int64_t bytes = 0;
  int64_t collectives = 0;
  auto operator<=>(const MoveCost&) const = default;
  MoveCost& operator+=(const MoveCost& other) {
    bytes += other.bytes;
    collectives += other.collectives;
    return *this;
  }
};
MoveCost cost_of(const std::vector<Move>& moves, const TensorType& type, Sharding from, const Mesh& mesh);
MoveCost reshard_cost(const TensorType& type, const Sharding& from, const Sharding& to, const Mesh& mesh);

}  // namespace mtfc
