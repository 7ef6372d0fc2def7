#pragma once
// Fused steps as kernels: one pass over memory for a chain of element-wise operations and reductions.

#include "core/diagnostics/error.h"
#include "runtime/fused/fused_plan.h"

namespace mtfc {

/// A RunError in one member of a fused step.
struct MemberError : RunError {
  MemberError(const Step& failed, const std::string& message) : RunError(message), member(failed) {}
  const Step& member;
};

/// Takes operands and results like the step's inputs and outputs. `entry` and `step` must outlive the kernel.
/// If KernelRun::check_finite is set, throws MemberError for the first element, in the order of members, that is
/// not finite.
Kernel prepare_fused(const EntryPoint& entry, const Step& step, const Mesh& mesh, const Coordinates& at,
                     int64_t tile = kFusedTile);

}  // namespace mtfc
