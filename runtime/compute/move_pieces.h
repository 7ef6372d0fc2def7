#pragma once
// The kernel of operations that assemble a dimension from pieces (core/op_rules/pieces.h), for devices that
// hold everything their shard of the result needs.

#include "runtime/compute/kernel.h"

namespace mtfc {

/// The operation `op` must have a kPermuted factor, and `site` must be a use of it.
Kernel prepare_pieces(std::string_view op, const KernelSite& site);

}  // namespace mtfc
