#pragma once
// Indices that are known only at run time are read and checked before they are used.

#include <cstdint>
#include <string>

#include "core/diagnostics/error.h"
#include "core/tensors/shape.h"
#include "runtime/compute/kernel.h"

namespace mtfc {

/// The position in the global tensor of element `local` of a device's shard.
int64_t global_index(const LocalTensor& tensor, int64_t local);

/// ` at [batch=3, length=1]`: the global position of element `local` by dimensions, for messages; "" for a
/// scalar.
std::string place_text(const LocalTensor& tensor, int64_t local);

/// `'h' has the value nan at [batch=3]`.
std::string not_finite_text(const std::string& name, double value, const LocalTensor& tensor, int64_t local);

/// An index is out of range.
struct IndexError : RunError {
  IndexError(const std::string& message, const std::byte* data, int64_t at)
      : RunError(message), indices(data), element(at) {}
  const std::byte* indices;  // the operand
  int64_t element;           // its row-major position in the global tensor
};

/// Checks the indices of an operation before it uses them, unless it skips those outside (`skip_outside`).
struct IndexCheck {
  Dim dim;  // the indexed dimension with its global size
  LocalTensor indices;
  bool skips = false;

  /// Throws IndexError if an index is outside [0, dim.size). The message names its position in the global
  /// tensor.
  void run(const std::byte* data) const;
};

/// The check that a step needs whose indices count along `dim`.
IndexCheck index_check(const KernelSite& site, const Dim& dim, const LocalTensor& indices);

}  // namespace mtfc
