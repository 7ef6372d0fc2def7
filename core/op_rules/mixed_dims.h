#pragma once
// Relabellings that hardly anybody means. A reshape keeps the row-major order of all elements, so it splits and joins
// neighbouring dimensions. A dimension that operand and result both have keeps its elements only where all that comes
// before it keeps its size:
//
//   [batch, heads, d_kv] -> [batch, d]      joins heads and d_kv; batch keeps its elements
//   [heads, batch, d_kv] -> [batch, d]      each row of the result has elements of several rows of `batch`
//   [a, b] -> [b, a]                        likewise, for both; a transpose would keep them

#include <string>
#include <vector>

#include "core/tensors/shape.h"

namespace mtfc {

struct MixedDims {
  std::vector<std::string>
      names;  // of dimensions that both sides have, and whose elements a relabelling mixes
  /// The operand's dimensions in an order in which the same relabelling mixes none; empty if there is no such order.
  std::vector<std::string> order;
};
MixedDims mixed_dims(const Dims& from, const Dims& to);

}  // namespace mtfc
