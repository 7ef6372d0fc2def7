#pragma once
// Runs of elements in memory: copied, packed into a message and unpacked from one, or filled with one value.
//
// A Run (core/tensors/relayout.h) names elements of two regions by their positions, so that the same code
// serves a local slice, an operation that moves pieces, and both ends of a message.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/tensors/relayout.h"
#include "core/tensors/shape.h"

namespace mtfc {

/// Elements of `runs`.
int64_t elements(const std::vector<Run>& runs);
/// Copies `runs` between two regions of elements of `size` bytes; the regions may be one where `to` <=
/// `from`.
void copy_runs(const std::vector<Run>& runs, int64_t size, const std::byte* from, std::byte* to);
/// Copies the sources of `runs` one after the other to `packed`; returns the end.
std::byte* pack_runs(const std::vector<Run>& runs, int64_t size, const std::byte* from, std::byte* packed);
/// The way back; returns the end of what was read.
const std::byte* unpack_runs(const std::vector<Run>& runs, int64_t size, const std::byte* packed,
                             std::byte* to);

/// One element of `dtype` as it lies in memory.
std::vector<std::byte> element_bytes(double value, DType dtype);
/// Writes `count` copies of `element` one after the other.
void fill_elements(const std::vector<std::byte>& element, int64_t count, std::byte* to);

}  // namespace mtfc
