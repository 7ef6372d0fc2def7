#pragma once
// Says what a layout leaves unused (core/explain/waste.h).

#include <vector>

#include "core/diagnostics/error.h"
#include "core/explain/waste.h"

namespace mtfc {

/// Warnings of idle and of unevenly loaded devices, and a note of copied optimizer state, each with what to do.
std::vector<Diagnostic> warnings_of(const Waste& waste, const Mesh& mesh);

}  // namespace mtfc
