#pragma once
// Decides which products run in turns (core/program/ring.h): those that the layout says. Of the others, those for which it
// takes less memory where memory is short, and those that are faster on some hardware, because a ring multiplies while
// slices are on their way.

#include "core/passes/pipeline.h"
#include "core/passes/steps/form_rings.h"

namespace mtfc {

bool wants_ring(const RingCandidate& candidate, const Layout& layout, const CompileOptions& options);

}  // namespace mtfc
