#pragma once
// NumPy's .npy files: one dense array. Format versions 1 to 3, row-major order, plain numbers and bools.

#include <string>

#include "core/tensors/data.h"
#include "core/tensors/shape.h"

namespace mtfc {

/// Maps `path`; its `data` may be at any alignment. Throws RunError, with the file's name, where it can't be
/// read, is no .npy file, is of a kind not read here, or is longer or shorter than its header says.
StoredArray read_npy(const std::string& path);

/// What precedes the elements (row-major, little-endian) in a file: format version 1, a multiple of 64 bytes.
std::string npy_header(const TensorType& type);

}  // namespace mtfc
