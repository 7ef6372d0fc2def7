#pragma once
// Converts the texts given to `mtfc generate` to tokens, and back: by a tokenizer, or as bytes with a vocabulary of 256
// entries. Without either, tokens are given and shown as ids.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "formats/tokenizer/tokenizer.h"

namespace mtfc {

using Tokens = std::vector<int64_t>;

/// Parses `12,7,300`. Throws UserError, naming `option`.
Tokens parse_tokens(std::string_view text, const std::string& option);

/// Reads the tokenizer of a file, or of the folder of a published model; - is standard
/// input. Throws UserError.
std::shared_ptr<const Tokenizer> read_tokenizer(const std::string& path);

/// The tokens of a text: those of the tokenizer, or its bytes if that is null.
Tokens tokens_of(std::string_view text, const Tokenizer* tokenizer,
                 SpecialTokens special = SpecialTokens::kNone);
/// The same for a text that is to be continued: behind the tokens that the tokenizer puts before a text.
Tokens tokens_to_continue(std::string_view text, const Tokenizer* tokenizer);
/// The text of tokens: by the tokenizer, or as bytes if that is null.
std::string text_of(const Tokens& tokens, const Tokenizer* tokenizer);
/// Ids separated by commas.
std::string ids_of(const Tokens& tokens);

}  // namespace mtfc
