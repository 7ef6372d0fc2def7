#pragma once
// Files of tokens, one after the other and nothing else: bytes of text, or little-endian integers.

#include <string>

#include "core/tensors/data.h"

namespace mtfc {

/// Maps `path` as an array of one dimension; `type` is u8, u16 or u32. Throws RunError, with the file's name,
/// where it can't be read, is empty, compressed or ends within a token.
StoredArray read_tokens(const std::string& path, StoredType type);

}  // namespace mtfc
