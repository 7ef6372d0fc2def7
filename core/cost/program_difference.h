#pragma once
// How two programs of one model differ: tensors that they split in different ways, and collectives that only one of
// them has, or that send more in one of them. Tensors of repeated blocks (`layers_0/w`, `layers_1/w`) count as one.
//
//   batch:rows against hidden:rows   w[io, hidden]: [io, hidden] and [io, hidden/rows]
//                                    all_reduce over rows of the gradient of w: 1 and 0

#include <cstdint>
#include <string>
#include <vector>

#include "core/program/placed_tensors.h"

namespace mtfc {

/// A program that is compared. Both must outlive it.
struct ComparedEntry {
  const Program& program;
  const EntryPoint& entry;
};

struct ShardingDifference {
  std::vector<std::string> tensors;
  TensorRole role = TensorRole::kComputed;
  std::string first, second;  // as to_string() of a TensorForm has it
};

struct ShardingDifferences {
  std::vector<ShardingDifference> tensors;
  size_t compared = 0;  // tensors, each layer's apart
  size_t differing = 0;
};

/// The tensors that both have, under one name, and split in different ways; in the order of placed_tensors(). Optimizer
/// state that differs like its variable counts, but is not listed.
ShardingDifferences sharding_differences(const ComparedEntry& first, const ComparedEntry& second);

struct CollectiveSums {
  int64_t count = 0;  // in one run of the entry point
  int64_t bytes = 0;  // sent by a device in all of them
};

/// Collectives of one kind over the same axes, which take tensors of one name from one sharding to another.
struct CollectiveDifference {
  std::string kind;
  std::string axes;  // `rows+cols`
  std::vector<std::string> tensors;
  std::string moved;  // `[batch/rows] -> [batch]`
  CollectiveSums first, second;

  /// The bytes that the second program sends more.
  int64_t more() const { return second.bytes - first.bytes; }
  bool differs() const { return first.count != second.count || first.bytes != second.bytes; }
};

/// All collectives of both, those first whose bytes differ most.
std::vector<CollectiveDifference> collective_differences(const ComparedEntry& first,
                                                         const ComparedEntry& second);

}  // namespace mtfc
