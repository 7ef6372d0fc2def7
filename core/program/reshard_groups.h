#pragma once
// Collectives of repeated blocks as groups, so that a report has one row for those of all layers.

#include <cstdint>
#include <string>
#include <vector>

#include "core/program/reshard_list.h"

namespace mtfc {

/// Collectives that differ only in the number of a repetition, in the order of their steps.
struct CollectiveGroup {
  std::vector<const ReshardStep*> members;  // elements of the list that was grouped
  int64_t bytes = 0;                        // sent by all of them
};

/// The groups, those that send most first.
std::vector<CollectiveGroup> collective_groups(const std::vector<ReshardStep>& reshards, const Mesh& mesh);

/// The collective for which the group stands in a list: the first one, with the folded() names of all members instead
/// of its tensor and of the first operation that waits for it.
ReshardStep folded(const CollectiveGroup& group);

/// The kind of the operation and its name without the numbers of repetitions: the same for the operations of one group.
std::string operation_form(const OperationPlace& operation);

}  // namespace mtfc
