#pragma once
#include "core/passes/partition.h"

namespace mtfc {

/// Reorders steps so that every collective starts as soon as its operand is there and is awaited only where its
/// result is used (or at the end). Kernels keep their order. Example: a, start r(a), wait r, b, c(r) becomes
/// a, start r(a), b, wait r, c(r).
PartitionedEntry schedule(PartitionedEntry partitioned);

}  // namespace mtfc
