#pragma once
// Decides which products run in turns (core/program/ring.h): those that the layout says. Of the others, those for which
// it takes less memory where memory is short, and where a plan is chosen for some hardware, those that are faster on
// it, because a ring multiplies while slices are on their way.

#include <string>
#include <string_view>

#include "core/compile/pipeline.h"
#include "core/lower/form_rings.h"

namespace mtfc {

/// The tensor of the model that a step makes, by the name of the step: `h` also for `h@sum(rows)` and `h/again`.
std::string product_name(std::string_view step);

/// `saves_memory`: wherever it takes less memory. `faster_on`: and where it is faster on this hardware; or nullptr.
bool wants_ring(const RingCandidate& candidate, const Layout& layout, bool saves_memory,
                const Hardware* faster_on);

}  // namespace mtfc
