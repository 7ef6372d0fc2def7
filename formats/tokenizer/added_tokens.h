#pragma once
// Added tokens are found in a text before all else, such as <|end_of_text|>, and become their id as a whole. Those that
// are not normalized are found in the text as it is, and the others in what the normalizer makes of the rest.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/json/cursor.h"
#include "formats/tokenizer/byte_trie.h"
#include "formats/tokenizer/vocabulary.h"

namespace mtfc {

class Normalizer;

struct AddedToken {
  int32_t id = 0;
  std::string content;
  bool is_special = false;
  bool is_normalized = false;
  bool strips_left = false, strips_right = false;  // It takes in the blanks beside it.
  bool is_word = false;                            // It is not found within a word.
};

/// A part of a text: an added token, or what is between two of them.
struct TextPart {
  size_t begin = 0, end = 0;
  int32_t id = -1;  // -1: no added token
};

class AddedTokens {
 public:
  AddedTokens() = default;
  AddedTokens(std::vector<AddedToken> tokens, const Normalizer* normalizer);

  /// The parts of `text`, of which none is empty.
  std::vector<TextPart> split(std::string_view text, bool is_normalized) const;

  const AddedToken* find(int32_t id) const;
  /// The text of the token: its content, as the normalizer makes it if the token is normalized.
  const std::string& text(const AddedToken& token) const {
    return normalized_[static_cast<size_t>(&token - tokens_.data())];
  }
  const AddedToken* find(std::string_view content) const;
  /// The largest id and one more.
  int32_t size() const;
  /// True if no token is found in another way where a text is cut between a line feed and an ASCII letter. `prepends`:
  /// something is put in front of what follows a token, so that none may take in the line feed.
  bool keep_line_starts(bool prepends) const;

 private:
  bool has_any(bool is_normalized) const { return !tries_[is_normalized ? 1 : 0].is_empty(); }

  std::vector<AddedToken> tokens_;
  std::vector<std::string> normalized_;  // the contents that are looked for, in the order of tokens_
  std::map<int32_t, size_t> by_id_;
  ByteTrie tries_[2];  // places in tokens_; of those that are not normalized, and of those that are
};

/// Reads the list `added_tokens` of a tokenizer.json. Mistakes are recorded in the cursor's sink.
std::vector<AddedToken> read_added_tokens(const Cursor& json, const TokenVocabulary& vocabulary);

}  // namespace mtfc
