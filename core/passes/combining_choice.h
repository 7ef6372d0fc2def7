#pragma once
// Decides which all_reduces are small enough to be sent with others: those that send at most 32 KiB, which is what a
// collective costs beside its bytes (core/program/plan_figures.h). A profile has no say: a plan that is chosen for some
// hardware is compared with the plan of least cost, and both should send alike.

#include "core/passes/pipeline.h"

namespace mtfc {

/// `start`: the start of an all_reduce of one value.
bool is_small_reduction(const EntryPoint& entry, const Step& start, const Layout& layout,
                        const CompileOptions& options);

}  // namespace mtfc
