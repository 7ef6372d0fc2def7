#pragma once
// Pieces of the HTML report: text that is safe inside markup, and drawings of a program that need neither
// network nor scripts. Labels are beside the drawings rather than in them, so that they stay readable on a
// phone.

#include <string>
#include <string_view>

#include "core/cost/cost.h"

namespace mtfc {

/// `a &lt; b`, printable; also safe between quotation marks.
std::string html_escaped(std::string_view text);

/// The memory of a device over the steps of the program, stacked by kind.
std::string memory_drawing(const CostReport& report);
/// One step of the model over time: one lane for the kernels and one for each group of axes. Empty without
/// times.
std::string timeline_drawing(const CostReport& report);
/// Draws each tensor as a matrix cut into its shards, with the ranks that hold them (Mesh-TensorFlow,
/// appendix A). Tensors of the same dimensions and sharding are drawn once; long sides are shortened in the
/// middle.
std::string tensor_drawings(const CostReport& report);

}  // namespace mtfc
