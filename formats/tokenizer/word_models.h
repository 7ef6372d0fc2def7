#pragma once
// Models that look up whole words, or the longest beginnings of what is left of them.

#include <memory>
#include <string>

#include "formats/tokenizer/token_model.h"

namespace mtfc {

struct WordPieceSettings {
  std::string unknown = "[UNK]";
  std::string continuing_prefix = "##";  // of every token but the first of a word
  size_t longest_word = 100;             // in code points; longer ones are unknown
};
/// A word is its longest beginning that is a token, then the longest of the rest, and so on:
///   unaffable   un ##aff ##able
std::unique_ptr<TokenModel> make_word_piece_model(TokenVocabulary vocabulary,
                                                  const WordPieceSettings& settings);

/// A word is one token.
std::unique_ptr<TokenModel> make_word_level_model(TokenVocabulary vocabulary, const std::string& unknown);

}  // namespace mtfc
