#pragma once
// The draws of dropout within a kernel: a pure function of a row's number and of the element's index along the row, so
// that any device can make those of any part of a row, forward and backward.

#include <cstdint>

#include "core/tensors/sharding.h"

namespace mtfc {

/// Writes what dropout multiplies the elements `columns` of a row by: 0 with probability `rate`, otherwise 1 / (1 -
/// rate). `factors` has one for each of them. T: float, double. Draw i is word (i / 16) % 4 of block (i / 64) * 16 + i
/// % 16 of Philox4x32-10 (runtime/compute/random.h), whose key is the row's number with its bits spread: an order that
/// suits vectors.
template <typename T>
void dropout_factors(int64_t row_number, double rate, Interval columns, T* factors);

}  // namespace mtfc
