#pragma once
// Relations between the dimensions of a graph's tensors. An axis can pass from one tensor to another through them.
// Operations relate the dimensions of one factor; loops relate those of what they take, carry and give.
//
// Example: y = einsum(x[b, k], w[k, h]) relates b of x and y, k of x and w, and h of w and y.

#include <vector>

#include "core/plan/flat_graph.h"

namespace mtfc {

struct TensorDim {
  FlatTensorId tensor;
  size_t dim = 0;
  bool operator==(const TensorDim&) const = default;
};

/// Dimensions that one operation, or one loop, relates.
struct DimRelation {
  FlatNodeId node;
  std::vector<TensorDim> dims;
  /// True if they are all one: what splits one of them can split all. Otherwise the operation cuts or merges them, and
  /// an axis passes only where elements stay where they are (core/tensors/relayout.h).
  bool is_one = true;
};

/// The relations of all nodes, in their order. `factors`: of each node that computes, none for others.
std::vector<DimRelation> dim_relations(const FlatGraph& graph,
                                       const IndexedBy<FlatNodeId, std::vector<Factor>>& factors);

}  // namespace mtfc
