#pragma once
// The search for the cheapest moves of a reshard: a shortest path over the shardings of the tensor (A*), where an edge
// is a slice or one collective and costs what the busiest device sends.
//
// Example: {sum over x} -> {a/x+y, b} over x:2,y:8. The direct way reduces and scatters whole tensors over x, since y
// can't be sliced before x. The search finds that a slice of b over y is free and makes the reduction 8 times smaller;
// an all_to_all over y then costs little.

#include <cstdint>
#include <vector>

#include "core/program/reshard.h"

namespace mtfc {

struct ReshardPlan {
  std::vector<Move> moves;
  int64_t elements = 0;     // that the busiest device sends, move by move
  int64_t collectives = 0;  // the number of moves that are collectives
};

/// `moves` with their cost.
ReshardPlan costed(const Resharding& change, std::vector<Move> moves);

/// The plan that sends the fewest elements, among these the one with the fewest collectives; `known`, a plan that makes
/// the change, if there is none better.
ReshardPlan cheapest_reshard(const Resharding& change, ReshardPlan known);

/// True if every device keeps a part of what it holds, so that the cheapest plan sends nothing. Without windows.
bool is_slice(const Resharding& change);

/// `sharding` where the values are no longer partial over `axes`.
Sharding without_partial(Sharding sharding, const AxisList& axes);

}  // namespace mtfc
