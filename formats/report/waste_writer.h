#pragma once
// Says what a layout leaves unused (core/explain/waste.h).

#include <cstdint>
#include <vector>

#include "core/diagnostics/error.h"
#include "core/explain/waste.h"

namespace mtfc {

/// Warnings of idle and of unevenly loaded devices, and a note of copied optimizer state, each with what to do. Bytes
/// are shown beside the memory of a device, 0 if it is not known.
std::vector<Diagnostic> warnings_of(const Waste& waste, const Mesh& mesh, int64_t device_memory);

}  // namespace mtfc
