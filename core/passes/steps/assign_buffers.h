#pragma once
#include <vector>

#include "core/program/partitioned_entry.h"

namespace mtfc {

/// Gives every value a buffer at a fixed offset, planned from lifetimes for the largest shard. Values share a buffer
/// where one is an alias of the other, where an element-wise kernel or an all_reduce can work in place, and where a
/// variable's new value can be computed straight into the variable; other assignments become copies at the end.
/// `variables_bytes`: what the variables take at the start of the arena.
EntryPoint assign_buffers(PartitionedEntry partitioned, const std::vector<ProgramVariable>& variables,
                          int64_t variables_bytes, const Mesh& mesh);

}  // namespace mtfc
