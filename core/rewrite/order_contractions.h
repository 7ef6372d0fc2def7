#pragma once
#include "core/graph/entry_graph.h"

namespace mtfc {

/// Splits every einsum of three or more operands into pairs, in the order with the fewest multiplications by
/// global sizes (the best of all orders up to 14 operands; more are paired greedily). Dimensions that only
/// one operand has are summed before multiplying. Afterwards every einsum has one or two operands. Example:
/// [a,b]*[b,c]*[c] becomes [a,b]*([b,c]*[c]).
EntryGraph order_contractions(EntryGraph entry);

}  // namespace mtfc
