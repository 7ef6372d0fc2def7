#pragma once
// Unigram: every token has the logarithm of a probability, and a word is the sequence of tokens with the largest sum.

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "formats/tokenizer/token_model.h"

namespace mtfc {

struct UnigramSettings {
  std::optional<int32_t> unknown;
  bool byte_fallback = false;
};

/// The ids of the tokens are their places in `scores`.
std::unique_ptr<TokenModel> make_unigram_model(TokenVocabulary vocabulary, std::vector<double> scores,
                                               const UnigramSettings& settings);

}  // namespace mtfc
