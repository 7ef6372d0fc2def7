#pragma once
// Copies runs of elements, packs them into a message, unpacks them from one, or fills memory with one value.
//
// A Run (core/tensors/relayout.h) names elements of two regions by their positions, so the same code serves
// local slices, operations that move pieces, and both ends of a message.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/tensors/relayout.h"
#include "core/tensors/shape.h"

namespace mtfc {

/// The number of elements in `runs`.
int64_t elements(const std::vector<Run>& runs);
/// True if each list is one contiguous run or empty.
bool are_contiguous(const std::vector<std::vector<Run>>& lists);
/// Copies `runs` between two regions whose elements have `size` bytes. Both may be the same region if `to` <=
/// `from` in every run.
void copy_runs(const std::vector<Run>& runs, int64_t size, const std::byte* from, std::byte* to);
/// Copies the sources of `runs` one after another to `packed`; returns the end of what was written.
std::byte* pack_runs(const std::vector<Run>& runs, int64_t size, const std::byte* from, std::byte* packed);
/// Copies packed elements to the targets of `runs`; returns the end of what was read.
const std::byte* unpack_runs(const std::vector<Run>& runs, int64_t size, const std::byte* packed,
                             std::byte* to);

/// The bytes of one element of `dtype` with this value.
std::vector<std::byte> element_bytes(double value, DType dtype);
/// Writes `count` copies of `element` one after another.
void fill_elements(const std::vector<std::byte>& element, int64_t count, std::byte* to);

}  // namespace mtfc
