#pragma once
// Kernels that know no bf16 (OpTraits::in_f32): they work on f32 copies in the workspace.

#include "core/graph/op_def.h"
#include "runtime/compute/kernel.h"

namespace mtfc {

/// Returns whether the kernel of `op` has to be prepared in f32: it knows no bf16, and there is some.
bool needs_f32(const OpDef& op, const KernelSite& site);

/// The kernel of `op`, made by `prepare` for the site with f32 in place of bf16. It converts bf16 operands before each
/// run of that kernel and rounds results after it. Its workspace is that of kernel_workspace().
Kernel prepare_in_f32(const OpDef& op, const KernelSite& site, Kernel (*prepare)(const KernelSite&));

/// Tile functions that convert.
TileFunction bf16_to_f32();
TileFunction i8_to_f32();
TileFunction f32_to_bf16();

}  // namespace mtfc
