#pragma once
// Resharding: the moves that take a tensor from one sharding to another, and the bytes that they send.
//
// The moves are those that together send the fewest bytes, unless a plan asks for the direct way. A slice is free, and
// makes shards smaller before a reduction. A reduce_scatter sends half as much as an all_reduce. An exchange of exact
// regions goes from any sharding to any other. Examples over rows:2,cols:8:
//
//   {b/rows} -> {b, c/cols}        slice to {b/rows, c/cols}, all_gather over rows
//   {sum over rows} -> {b/rows+cols, c}
//                                  slice to {b, c/cols}, reduce_scatter to {b/rows, c/cols}, all_to_all over cols

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
  bool operator==(const Move&) const = default;
};

/// How a tensor gets from one sharding to another.
enum class ReshardWay {
  // The moves that send the fewest bytes; among these, the fewest collectives. Over meshes with so many axes that they
  // split the tensor in thousands of ways, only the direct way is considered.
  kFewestBytes,
  // Slices, reductions and at most one further collective. It may take less time, since a collective costs more than
  // its bytes. Into windows, it is the same as the way with the fewest bytes.
  kDirect,
};

/// The moves from one sharding to the other. The partial axes of `to` must be partial in `from`, too. Windows may split
/// `to`, but not `from`.
std::vector<Move> plan_reshard(const Dims& dims, const Sharding& from, const Sharding& to, const Mesh& mesh,
                               ReshardWay way = ReshardWay::kFewestBytes);

/// The criteria by which plans are compared: bytes that the busiest device sends, move by move, then the number of
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
/// A use of an operation that moves pieces (core/op_rules/pieces.h).
struct PieceCall {
  const OpDef& op;
  const Attributes& attributes;
  const std::vector<TensorType>& operands;
  const TensorType& result;
};
/// The cost of exchanging the pieces of the `moved` factor from operands to a result in these shardings; nothing if the
/// operands are whole along it.
MoveCost pieces_cost(const PieceCall& call, const Factor& moved, const std::vector<Sharding>& operands,
                     const Sharding& result, const Mesh& mesh);

/// The cost of the moves of plan_reshard() with the fewest bytes.
MoveCost reshard_cost(const TensorType& type, const Sharding& from, const Sharding& to, const Mesh& mesh);

}  // namespace mtfc
