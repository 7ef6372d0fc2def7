#pragma once
// Converts stored arrays (core/tensors/data.h), whose bytes may have either order and any alignment, to
// elements as programs hold them.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/tensors/data.h"
#include "core/tensors/shape.h"
#include "core/tensors/sharding.h"

namespace mtfc {

/// Throws RunError, with the names of the file and of `what` is to be filled, if the array's values are not of a kind
/// that `dtype` can hold: a fraction in an integer, a number in a bool.
void require_convertible(const StoredArray& array, DType dtype, double scale, const std::string& what);

/// Writes the elements at the positions `range` of the array, times `scale`, to `to`. Throws RunError for an integer
/// that does not fit.
void copy_stored(const StoredArray& array, const Interval& range, double scale, DType dtype, std::byte* to);

/// The same as elements of a file: `type` is f32, f64, bf16 or f16. Throws RunError for a number that f16 can't hold.
void copy_stored(const StoredArray& array, const Interval& range, StoredType type, std::byte* to);

/// `[9000, 28, 28]`.
std::string shape_text(const std::vector<int64_t>& shape);
std::vector<int64_t> shape_of(const Dims& dims);

}  // namespace mtfc
