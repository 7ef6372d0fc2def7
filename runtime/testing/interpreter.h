#pragma once
// Evaluates a graph on one device, operation by operation, without passes or a program: the reference that
// sharded execution is compared with.

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "core/graph/graph.h"

namespace mtfc {

/// A whole tensor in memory, dense and row-major.
struct HostTensor {
  TensorType type;
  std::vector<std::byte> data;

  HostTensor() = default;
  /// Zeros.
  explicit HostTensor(const TensorType& of) : type(of), data(static_cast<size_t>(bytes(of))) {}
  /// The elements as T, which must be the type of `type.dtype`.
  template <typename T>
  T* as() {
    return reinterpret_cast<T*>(data.data());
  }
  template <typename T>
  const T* as() const {
    return reinterpret_cast<const T*>(data.data());
  }
};

struct InterpreterOptions {
  uint64_t seed = 0;
  int64_t step = 0;
};

/// The value of every tensor of `graph`, by its id. `leaves` holds the inputs and variables. The graph must
/// not hold composites or gradients any more. Throws RunError for data that an operation can't work with.
PerTensor<HostTensor> interpret(const Graph& graph, const std::map<TensorId, HostTensor>& leaves,
                                const InterpreterOptions& options = {});

}  // namespace mtfc
