#include "formats/tokenizer/word_models.h"

#include <fmt/format.h>

#include "core/diagnostics/error.h"
#include "formats/tokenizer/code_points.h"

namespace mtfc {
namespace {

int32_t unknown_id(const TokenVocabulary& vocabulary, const std::string& unknown, std::string_view word) {
  const auto id = vocabulary.id(unknown);
  if (!id)
    throw RunError(
        fmt::format("there is no token for '{}', and none for unknown words ('{}')", word, unknown));
  return *id;
}

class WordPieceModel : public TokenModel {
 public:
  WordPieceModel(TokenVocabulary vocabulary, const WordPieceSettings& settings)
      : TokenModel(std::move(vocabulary)), settings_(settings) {}

  void encode(std::string_view word, ModelMemory&, std::vector<int32_t>& ids) const override {
    const size_t before = ids.size();
    bool is_known = count_code_points(word) <= settings_.longest_word;
    for (size_t begin = 0; is_known && begin < word.size();) begin = add_longest(word, begin, ids, is_known);
    if (is_known) return;
    ids.resize(before);
    ids.push_back(unknown_id(vocabulary(), settings_.unknown, word));
  }
  bool parts_at(uint32_t, uint32_t) const override { return false; }

 private:
  // Adds the longest token at `begin`, and returns its end.
  size_t add_longest(std::string_view word, size_t begin, std::vector<int32_t>& ids, bool& is_known) const {
    std::string text = begin > 0 ? settings_.continuing_prefix : "";
    const size_t prefix = text.size();
    text += word.substr(begin);
    while (text.size() > prefix) {
      if (const auto id = vocabulary().id(text)) {
        ids.push_back(*id);
        return begin + text.size() - prefix;
      }
      text.resize(text.size() - code_point_before(text, text.size()).length);
    }
    is_known = false;
    return word.size();
  }

  WordPieceSettings settings_;
};

class WordLevelModel : public TokenModel {
 public:
  WordLevelModel(TokenVocabulary vocabulary, const std::string& unknown)
      : TokenModel(std::move(vocabulary)), unknown_(unknown) {}

  void encode(std::string_view word, ModelMemory&, std::vector<int32_t>& ids) const override {
    const auto id = vocabulary().id(word);
    ids.push_back(id ? *id : unknown_id(vocabulary(), unknown_, word));
  }
  bool parts_at(uint32_t, uint32_t) const override { return false; }

 private:
  std::string unknown_;
};

}  // namespace

std::unique_ptr<TokenModel> make_word_piece_model(TokenVocabulary vocabulary,
                                                  const WordPieceSettings& settings) {
  return std::make_unique<WordPieceModel>(std::move(vocabulary), settings);
}

std::unique_ptr<TokenModel> make_word_level_model(TokenVocabulary vocabulary, const std::string& unknown) {
  return std::make_unique<WordLevelModel>(std::move(vocabulary), unknown);
}

}  // namespace mtfc
