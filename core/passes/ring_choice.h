#pragma once
// Decides which products run in turns (core/program/ring.h): those that the layout says. Of the others, those for which
// it takes less memory where memory is short, and where a plan is chosen for some hardware, those that are faster on
// it, because a ring multiplies while slices are on their way.

#include <string>
#include <string_view>

#include "core/passes/pipeline.h"
#include "core/passes/steps/form_rings.h"

namespace mtfc {

/// The tensor of the model that a step makes, by the name of the step: `h` also for `h@sum(rows)` and `h/again`.
std::string product_name(std::string_view step);

/// `is_planned`: whether a plan is chosen (core/model/annotations.h).
bool wants_ring(const RingCandidate& candidate, const Layout& layout, bool is_planned,
                const CompileOptions& options);

}  // namespace mtfc
