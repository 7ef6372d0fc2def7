#pragma once
// The kernel of operations that put a dimension together from pieces (core/op_rules/pieces.h), where a device has all
// that its part of the result takes.

#include "core/graph/op_def.h"
#include "runtime/compute/kernel.h"

namespace mtfc {

/// `op` has a kMoved factor, and `site` is a use of it.
Kernel prepare_pieces(const OpDef& op, const KernelSite& site);

}  // namespace mtfc
