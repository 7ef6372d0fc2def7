#pragma once
#include "core/program/partitioned_entry.h"

namespace mtfc {

/// Reorders steps so that every collective starts as soon as its operand is there and is awaited only where its
/// result is used (or at the end). Kernels keep their order. Example: a, start r(a), wait r, b, c(r) becomes
/// a, start r(a), b, wait r, c(r). Of those that go on until the end of the step, such as the all_gathers of new
/// values of variables, only a few are under way at a time, as each needs memory.
PartitionedEntry schedule(PartitionedEntry partitioned, const Mesh& mesh);

}  // namespace mtfc
