#pragma once
// Byte-pair encoding: a word begins as its characters, and the adjacent pair of the lowest rank is merged, the first of
// several, until no pair of the table is left.
//
//   merges: t h, th e, h e      the -> t h e -> th e -> the

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/tokenizer/token_model.h"

namespace mtfc {

struct BpeSettings {
  std::optional<std::string> unknown = std::nullopt;  // the token for characters that have none
  std::string continuing_prefix = {};                 // of every character but the first
  std::string end_suffix = {};                        // of the last character
  bool fuse_unknown = false, byte_fallback = false;
  bool ignore_merges = false;  // A word that is a token is that token.
};

struct TokenPair {
  int32_t left, right, merged;
};

/// The merges in the order of their ranks. A pair that is there twice has the later rank.
std::unique_ptr<TokenModel> make_bpe_model(TokenVocabulary vocabulary, const std::vector<TokenPair>& merges,
                                           const BpeSettings& settings);

}  // namespace mtfc
