#pragma once
// The model of a tokenizer makes ids of a word, which is what normalizer and pre-tokenizer leave in one piece.

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "formats/tokenizer/vocabulary.h"
#include "formats/tokenizer/word_cache.h"

namespace mtfc {

class Cursor;

/// The memory that a model works in. One thread at a time uses it, and only for one model, whose words it remembers.
struct ModelMemory {
  /// A token of a word while pairs are merged, with the rank of its merge with the next one.
  struct Symbol {
    int32_t id, previous, next;
  };
  struct Candidate {
    uint32_t rank;
    int32_t at, id;
  };
  /// The best way to a place in a word, for Unigram.
  struct PathNode {
    double score;
    int64_t begin;  // -1: none
    int32_t id;
  };

  WordCache cache;
  std::vector<Symbol> symbols;
  std::vector<Candidate> candidates;
  std::vector<int32_t> ids;
  std::vector<uint32_t> ranks;
  std::vector<PathNode> nodes;
};

class TokenModel {
 public:
  virtual ~TokenModel() = default;
  /// Appends the ids of `word`, which is not empty. Throws RunError if there is no token for it.
  virtual void encode(std::string_view word, ModelMemory& memory, std::vector<int32_t>& ids) const = 0;
  /// True if two parts of a word have together the ids of the whole, wherever `left` is the last code point of one and
  /// `right` the first of the other.
  virtual bool parts_at(uint32_t left, uint32_t right) const = 0;

  const TokenVocabulary& vocabulary() const { return vocabulary_; }

 protected:
  explicit TokenModel(TokenVocabulary vocabulary) : vocabulary_(std::move(vocabulary)) {}

 private:
  TokenVocabulary vocabulary_;
};

/// Reads the object `model` of a tokenizer.json. Records mistakes in the cursor's sink, and returns nullptr then.
std::unique_ptr<TokenModel> read_token_model(const Cursor& json);

}  // namespace mtfc
