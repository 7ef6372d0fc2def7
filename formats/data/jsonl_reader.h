#pragma once
// Values of JSON Lines files: an object on each line. Empty lines are passed over.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/tensors/data.h"
#include "formats/data/data_file.h"

namespace mtfc {

/// The numbers that the objects have for `key`: [rows], or [rows, ...] for lists of numbers, and lists of these, which
/// are equally long on all lines. Throws RunError with file and line.
StoredArray read_jsonl(const std::string& path, const std::string& key);

/// Passes the texts that the objects have for `keys` to `visit`, line by line and in the order of `keys`. Throws
/// RunError with file and line for a key that is missing or no text.
void read_jsonl_texts(const DataFile& file, const std::vector<std::string>& keys,
                      const std::function<void(std::string_view text, int64_t line)>& visit);

}  // namespace mtfc
