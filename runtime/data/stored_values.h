#pragma once
// Converts stored arrays (core/tensors/data.h), whose bytes may have either order and any alignment, to
// elements as programs hold them.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/tensors/data.h"
#include "core/tensors/shape.h"

namespace mtfc {

/// Throws RunError, naming the file and `what` is to be filled, if `dtype` can't hold the array's kind of
/// values: a fraction in an integer, a number in a bool.
void require_convertible(const StoredArray& array, DType dtype, double scale, const std::string& what);

/// Writes the `count` elements from position `first` of the array, times `scale`, to `to`. Throws RunError if
/// an integer does not fit.
void copy_stored(const StoredArray& array, int64_t first, int64_t count, double scale, DType dtype,
                 std::byte* to);

/// `[9000, 28, 28]`.
std::string shape_text(const std::vector<int64_t>& shape);
std::vector<int64_t> shape_of(const Dims& dims);

}  // namespace mtfc
