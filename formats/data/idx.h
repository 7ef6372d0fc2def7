#pragma once
// IDX files, the format of the MNIST digits: a big-endian dense array, plain or compressed by gzip.

#include <string>

#include "core/tensors/data.h"

namespace mtfc {

/// Maps `path`, or unpacks it if its contents are gzip. Throws RunError, with the file's name, if it can't be
/// read, is not an IDX file, or is longer or shorter than its header says.
StoredArray read_idx(const std::string& path);

}  // namespace mtfc
