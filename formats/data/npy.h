#pragma once
// NumPy's .npy files: one dense array. Supports format versions 1 to 3, row-major order, plain numbers and
// bools.

#include <string>

#include "core/tensors/data.h"
#include "core/tensors/shape.h"

namespace mtfc {

/// Maps `path`; its `data` may have any alignment. Throws RunError, with the file's name, if it can't be
/// read, is not a .npy file, is of an unsupported kind, or is longer or shorter than its header says.
StoredArray read_npy(const std::string& path);

/// The bytes before the elements (row-major, little-endian) in a file: format version 1, a multiple of 64
/// bytes.
std::string npy_header(const TensorType& type);

}  // namespace mtfc
