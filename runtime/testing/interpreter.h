#pragma once
// Evaluates a graph on one device, operation by operation, without passes or a program: the reference that
// sharded execution is compared with.

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "core/graph/graph.h"
#include "core/tensors/host_tensor.h"

namespace mtfc {

struct InterpreterOptions {
  uint64_t seed = 0;
  int64_t step = 0;
};

/// The value of every tensor of `graph`, by its id. `leaves` holds the inputs and variables. The graph must
/// not hold composites or gradients any more. Throws RunError for data that an operation can't work with.
PerTensor<HostTensor> interpret(const Graph& graph, const std::map<TensorId, HostTensor>& leaves,
                                const InterpreterOptions& options = {});

}  // namespace mtfc
