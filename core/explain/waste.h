#pragma once
// Finds devices that a layout leaves without work, and memory in which it keeps copies.

#include <cstdint>
#include <optional>
#include <vector>

#include "core/program/program.h"

namespace mtfc {

/// A dimension whose shards differ by more than a few percent.
struct UnevenSplit {
  Dim dim;
  AxisList axes;
  int64_t pieces = 1;   // microbatches into which the dimension of the model is cut; `dim` is one of them
  int64_t parts = 1;    // shards
  int64_t empty = 0;    // shards without elements: their devices have no part of what is split
  int64_t largest = 0;  // elements of the largest shard
  int64_t flops = 0;    // of products, which the busiest device computes above the mean of all devices

  /// By how much the largest shard exceeds the mean: 0.6 for 5 elements in 4 shards, one of which has 2.
  double excess() const;
};

/// Optimizer state of which devices along an axis hold copies.
struct CopiedState {
  int axis = 0;
  int64_t bytes = 0;  // of all optimizer state, per device
  int64_t least = 0;  // what would be left of it if it were split over the axis too
};

struct Waste {
  /// Nothing is split over these axes, so that the devices along them do the same work.
  std::vector<int> unused_axes;
  /// Those with the most empty shards come first, and of these the one with the largest excess.
  std::vector<UnevenSplit> uneven;
  /// The state along the axis that has most copies.
  std::optional<CopiedState> state;
};

/// Looks at the tensors of the entry point and at the variables. Shards count as uneven from an excess of 5 % on;
/// splits that the compiler has chosen by itself, for tensors that no product reads or makes, are left out. Copies of
/// optimizer state count from 1 MiB on, if they are at least 5 % of the peak of memory and the layout does not say how
/// the state is split.
Waste waste_of(const Program& program, const EntryPoint& entry);

}  // namespace mtfc
