#pragma once
// Reorders steps so that every collective starts as soon as its operand is there, and is awaited only where its result
// is used or at the end, or earlier if too many are under way.
//
//   a; start r(a); wait r; b; c(r)    ->    a; start r(a); b; wait r; c(r)

#include "core/program/partitioned_entry.h"

namespace mtfc {

/// Kernels keep their order, except updates. One whose gradient takes at least a MiB runs soon after the last step that
/// makes this gradient or reads the old value of the variable: gradients that wait for their updates then never take
/// more than three times the memory of the largest one. The others run at the end, in the order in which the
/// collectives that they need have started.
/// Collectives whose results are needed late, such as reduce_scatters of gradients, hold memory while they are under
/// way: at most twice the bytes of the largest one at a time. Collectives that work in place hold nothing.
PartitionedEntry schedule(PartitionedEntry partitioned, const Mesh& mesh);

/// Starts collectives before they are needed whose operands are there for long: those of inputs and variables, or of
/// casts of these, such as all_gathers of weights that are split, which could start at once; and those with which the
/// backward pass moves what the forward pass has kept, which could start where it begins. As results stay while they
/// are read, the bytes of the largest one are under way at most. The order of `schedule` stays otherwise.
///
///   a; b; start g(w); wait g; c(g)    ->    start g(w); a; b; wait g; c(g)
PartitionedEntry start_ahead(PartitionedEntry partitioned, const Mesh& mesh);

}  // namespace mtfc
