#pragma once
// Files that hold nothing but tokens, one after another: bytes of text, or little-endian integers.

#include <string>

#include "core/tensors/data.h"

namespace mtfc {

/// Maps `path` as an array of one dimension; `type` is u8, u16 or u32. Throws RunError, with the file's name,
/// if it can't be read, is empty or compressed, or ends within a token.
StoredArray read_tokens(const std::string& path, StoredType type);

}  // namespace mtfc
