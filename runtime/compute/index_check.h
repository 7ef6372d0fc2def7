#pragma once
// Indices that arrive at run time: read, and checked before anything is done with them.

#include <cstdint>
#include <string>

#include "core/tensors/shape.h"
#include "runtime/compute/kernel.h"

namespace mtfc {

/// Where element `local` of a device's part is in the global tensor.
int64_t global_index(const LocalTensor& tensor, int64_t local);

/// ` at [batch=3, length=1]`: that place by dimensions, for messages; "" for a scalar.
std::string place_text(const LocalTensor& tensor, int64_t local);

/// `'h' has the value nan at [batch=3]`.
std::string not_finite_text(const std::string& name, double value, const LocalTensor& tensor, int64_t local);

/// The indices of gather and scatter_add.
struct IndexCheck {
  Dim dim;  // indexed; all of it, not a device's part
  LocalTensor indices;

  /// Throws RunError where one of the indices is outside [0, dim.size). The place named is in the
  /// global tensor.
  void run(const std::byte* data) const;
};

}  // namespace mtfc
