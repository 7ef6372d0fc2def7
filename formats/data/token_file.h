#pragma once
// Files that hold nothing but tokens, one after another: bytes of text, or little-endian integers.

#include <string>

#include "core/tensors/data.h"

namespace mtfc {

/// Maps `path` as an array of one dimension, or unpacks it if its contents are gzip; `type` is u8, u16 or u32. Throws
/// RunError, with the file's name, if it can't be read, is empty, is an array of NumPy, or ends within a token.
StoredArray read_tokens(const std::string& path, StoredType type);

/// True if bytes that are read as tokens of two bytes are rather tokens of four: every second one, which is the upper
/// half of a token then, is 0, or all of them are below 16 while the others are not.
bool looks_four_bytes_wide(const StoredArray& tokens);

}  // namespace mtfc
