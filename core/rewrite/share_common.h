#pragma once
#include "core/graph/entry_graph.h"

namespace mtfc {

/// Common subexpression elimination: of several nodes that compute the same, only the first one stays. Two nodes
/// compute the same if they have the same operation, attributes and operands, or operands that compute the same.
/// Element-wise operations, broadcasts and constants are computed again instead, since that is cheaper than to keep
/// their results; those that only made operands of removed nodes are removed, too. Random operations draw other numbers
/// each time. Example: with two `gradients` of one loss, the products of the second one are those of the first.
///
/// A second name from the model is kept by an `identity`.
EntryGraph share_common(EntryGraph entry);

}  // namespace mtfc
