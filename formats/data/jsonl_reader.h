#pragma once
// Values of JSON Lines files: an object on each line. Empty lines are passed over.

#include <string>

#include "core/tensors/data.h"

namespace mtfc {

/// The numbers that the objects have for `key`: [rows], or [rows, ...] for lists of numbers, and lists of these, which
/// are equally long on all lines. Throws RunError with file and line.
StoredArray read_jsonl(const std::string& path, const std::string& key);

}  // namespace mtfc
