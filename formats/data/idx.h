#pragma once
// IDX files, as the MNIST digits come in: a big-endian dense array, plain or compressed by gzip.

#include <string>

#include "core/tensors/data.h"

namespace mtfc {

/// Maps `path`, or unpacks it where its contents are gzip's. Throws RunError, with the file's name, where it
/// can't be read, is no IDX file, or is longer or shorter than its header says; never allocates more than the
/// compressed file could hold.
StoredArray read_idx(const std::string& path);

}  // namespace mtfc
