#pragma once
// Gives every value a buffer at a fixed offset in the arena, planned from lifetimes for the largest shard.
//
//   h = einsum(x, w)     h in buffer 2, steps 0 to 1
//   y = relu(h)          y in buffer 2 as well: relu works in place, and nothing else reads h
//   w' = sub(w, g)       w' in the buffer of w: nothing reads the old w later

#include <vector>

#include "core/program/partitioned_entry.h"

namespace mtfc {

/// Values share a buffer where one is an alias of the other, where an element-wise kernel or an all_reduce
/// can work in place, and where the new value of a variable can be computed straight into the variable. Other
/// assignments become copies at the end. `variables` are those of the program and the caches of the entry
/// point, and take the first `variables_bytes` of the arena.
EntryPoint assign_buffers(PartitionedEntry partitioned, const std::vector<ProgramVariable>& variables,
                          int64_t variables_bytes, const Mesh& mesh);

}  // namespace mtfc
