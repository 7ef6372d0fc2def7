#pragma once
// Where the shardings of a chosen plan come from: for each axis that splits a dimension, the tensor whose sharding the
// layout fixes, and the operations through which the axis came from there.
//
//   x[batch/rows] (rule)  ->  h = einsum(x, w)  ->  y = relu(h): batch/rows of y came from x through h

#include <string>
#include <vector>

#include "core/choice/plan_candidates.h"
#include "core/passes/steps/sharded_entry.h"

namespace mtfc {

/// One step of the way of an axis: the tensor that it reached, and the operation that relates it to the one before.
struct OriginHop {
  std::string tensor;
  std::string operation;  // `einsum`, `loop`; "" for the first tensor
};

struct AxisOrigin {
  std::string dim;
  AxisList axes;  // that split the dimension
  /// From the tensor whose sharding is fixed, or to which the rules offer it, to the tensor itself. Empty if no such
  /// tensor was found.
  std::vector<OriginHop> way;
  SharedAnnotation annotation;  // of the first tensor of the way; nullptr if it has none
  bool is_decided = false;  // the first tensor is a variable whose sharding another entry point has decided
};

struct TensorOrigins {
  bool is_known = false;    // the plan has such a tensor
  bool is_fixed = false;    // nothing was to be chosen
  bool is_decided = false;  // it is a variable whose sharding another entry point has decided
  TensorType type;
  Sharding sharding;
  SharedAnnotation annotation;       // of the tensor itself; nullptr if it has none
  std::vector<AxisOrigin> axes;      // one for each dimension that is split
  std::vector<Sharding> candidates;  // what it could be split into, the sharding itself among them
};

/// The origins of the sharding of a tensor in a plan that was chosen under these conditions.
TensorOrigins origins_of(const ShardedEntry& plan, const PlanConditions& conditions,
                         const std::string& tensor);

}  // namespace mtfc
