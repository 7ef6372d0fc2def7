#pragma once
// From what a person gives `mtfc generate` to tokens, and back. Where the vocabulary has 256 entries they are
// bytes; other vocabularies are given and shown as token ids.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mtfc {

using Tokens = std::vector<int64_t>;

/// `12,7,300`. Throws UserError, naming `option`.
Tokens parse_tokens(std::string_view text, const std::string& option);
/// The bytes of a text.
Tokens tokens_of(std::string_view text);
/// As the user reads it: bytes, or ids with commas between.
std::string text_of(const Tokens& tokens, bool as_bytes);

}  // namespace mtfc
