#pragma once
// Where the new dimension of a result stands, as the attributes `before` and `after` say it: for operations whose
// operands don't have the dimension, so that nothing else would say it. Example: [a, c] with the new dimension b before
// c is [a, b, c].

#include "core/graph/op_def.h"

namespace mtfc {

inline constexpr AttributeSpec kBefore = {"before", AttributeType::kDim, false,
                                          "the dimension right before which the new one stands"};
inline constexpr AttributeSpec kAfter = {"after", AttributeType::kDim, false,
                                         "the dimension right after which the new one stands"};

/// The position of the new dimension among `others`: `otherwise` unless an attribute says another. Throws OpError for a
/// dimension that is not among the others, and for both attributes.
size_t stated_position(const OpCall& call, const Dims& others, size_t otherwise);

}  // namespace mtfc
