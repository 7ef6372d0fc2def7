#pragma once
// NumPy's .npy files: one dense array. Supports format versions 1 to 3, row-major order, plain numbers and
// bools.

#include <string>

#include "core/tensors/data.h"
#include "core/tensors/shape.h"
#include "formats/data/data_file.h"

namespace mtfc {

/// Maps `path`, or unpacks it if its contents are gzip; its `data` may have any alignment. Throws RunError, with the
/// file's name, if it can't be read, is not a .npy file, is of an unsupported kind, or is longer or shorter than its
/// header says.
StoredArray read_npy(const std::string& path);
/// The same for a file that is open.
StoredArray npy_array(const DataFile& file);

/// An array of an .npz archive, by its name there, or the only one for "". Arrays that are not compressed are mapped.
StoredArray read_npz(const std::string& path, const std::string& array);

/// The bytes before the elements (row-major, little-endian) in a file: format version 1, a multiple of 64
/// bytes.
std::string npy_header(const TensorType& type);

}  // namespace mtfc
