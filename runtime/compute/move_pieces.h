#pragma once
// The kernel of operations that put a dimension together from pieces (core/op_rules/pieces.h), where a device has all
// that its part of the result takes.

#include "core/graph/op_def.h"
#include "runtime/compute/kernel.h"

namespace mtfc {

/// `op` has a kMoved factor, and `site` is a use of it.
Kernel prepare_pieces(const OpDef& op, const KernelSite& site);

/// One element of `dtype` as it lies in memory.
std::vector<std::byte> element_bytes(double value, DType dtype);
/// Writes `count` copies of `element` one after the other.
void fill_elements(const std::vector<std::byte>& element, int64_t count, std::byte* to);

}  // namespace mtfc
