#pragma once
// The kernel of operations that assemble a dimension from pieces (core/op_rules/pieces.h), for devices that
// hold everything their shard of the result needs.

#include "core/graph/op_def.h"
#include "runtime/compute/kernel.h"

namespace mtfc {

/// `op` must have a kPermuted factor, and `site` must be a use of it.
Kernel prepare_pieces(const OpDef& op, const KernelSite& site);

}  // namespace mtfc
