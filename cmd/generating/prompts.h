#pragma once
// Converts the texts given to `mtfc generate` to tokens, and back. With a vocabulary of 256 entries, tokens
// are bytes; other vocabularies are given and shown as token ids.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mtfc {

using Tokens = std::vector<int64_t>;

/// Parses `12,7,300`. Throws UserError, naming `option`.
Tokens parse_tokens(std::string_view text, const std::string& option);
/// The bytes of a text.
Tokens tokens_of(std::string_view text);
/// The text for the user: bytes, or ids separated by commas.
std::string text_of(const Tokens& tokens, bool as_bytes);

}  // namespace mtfc
