#pragma once
// Arrays of several files that are read as one, along their first dimension.

#include <cstdint>
#include <string>
#include <vector>

#include "core/tensors/data.h"

namespace mtfc {

/// The files that a pattern with * and ? names, in the order of their names; `path` itself if it is a file, or no
/// pattern. Throws RunError if no file has such a name.
std::vector<std::string> files_of_pattern(const std::string& path);

/// The arrays as one, which messages call `name`; a single one as it is. Their shapes may differ in the first dimension
/// only. Throws RunError otherwise.
StoredArray joined(std::vector<StoredArray> arrays, const std::string& name);

/// The rows [first, last) of an array along its first dimension.
StoredArray rows_of(const StoredArray& array, int64_t first, int64_t last);

/// The array with all of its elements at `data`, which are copied if it has parts.
StoredArray contiguous(const StoredArray& array);

}  // namespace mtfc
