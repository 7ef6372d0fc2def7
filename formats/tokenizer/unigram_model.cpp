#include "formats/tokenizer/unigram_model.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/diagnostics/error.h"
#include "formats/tokenizer/byte_trie.h"
#include "formats/tokenizer/code_points.h"

namespace mtfc {
namespace {

constexpr double kUnknownPenalty = 10;  // below the lowest score of a token

class UnigramModel : public TokenModel {
 public:
  UnigramModel(TokenVocabulary vocabulary, std::vector<double> scores, const UnigramSettings& settings)
      : TokenModel(std::move(vocabulary)), scores_(std::move(scores)), settings_(settings) {
    std::vector<std::pair<std::string_view, int32_t>> texts;
    for (const auto& [token, id] : this->vocabulary().entries()) texts.emplace_back(token, id);
    trie_ = ByteTrie(std::move(texts));
    const auto least = std::min_element(scores_.begin(), scores_.end());
    unknown_score_ = (least == scores_.end() ? 0 : *least) - kUnknownPenalty;
  }

  void encode(std::string_view word, ModelMemory& memory, std::vector<int32_t>& ids) const override {
    find_paths(word, memory.nodes);
    // From the end of the word to its beginning: the ends of its tokens. Unknown tokens in a row are one.
    std::vector<size_t> ends;
    bool was_unknown = false;
    for (size_t end = word.size(); end > 0; end = static_cast<size_t>(memory.nodes[end].begin)) {
      const bool is_unknown = memory.nodes[end].id == settings_.unknown;
      if (!(is_unknown && was_unknown)) ends.push_back(end);
      was_unknown = is_unknown;
    }
    size_t begin = 0;
    for (auto end = ends.rbegin(); end != ends.rend(); ++end) {
      add_token(word.substr(begin, *end - begin), ids);
      begin = *end;
    }
  }
  bool parts_at(uint32_t, uint32_t) const override { return false; }

 private:
  static void improve(ModelMemory::PathNode& node, double score, size_t begin, int32_t id) {
    if (node.begin < 0 || score > node.score) node = {score, static_cast<int64_t>(begin), id};
  }

  // Viterbi: the best way to each place in the word.
  void find_paths(std::string_view word, std::vector<ModelMemory::PathNode>& nodes) const {
    nodes.assign(word.size() + 1, {0, -1, -1});
    for (size_t begin = 0; begin < word.size();) {
      const double before = nodes[begin].score;
      const size_t length = code_point_at(word, begin).length;
      bool has_single = false;
      trie_.for_each_at(word, begin, [&](size_t size, int32_t id) {
        improve(nodes[begin + size], scores_[static_cast<size_t>(id)] + before, begin, id);
        has_single = has_single || size == length;
      });
      if (!has_single) {
        if (!settings_.unknown) fail(word.substr(begin, length));
        improve(nodes[begin + length], unknown_score_ + before, begin, *settings_.unknown);
      }
      begin += length;
    }
  }

  void add_token(std::string_view text, std::vector<int32_t>& ids) const {
    if (const auto id = vocabulary().id(text)) return ids.push_back(*id);
    if (settings_.byte_fallback) {
      const size_t before = ids.size();
      for (const char c : text)
        if (const auto id = vocabulary().id(byte_token(static_cast<unsigned char>(c)))) ids.push_back(*id);
      if (ids.size() == before + text.size()) return;
      ids.resize(before);
    }
    if (!settings_.unknown) fail(text);
    ids.push_back(*settings_.unknown);
  }

  [[noreturn]] static void fail(std::string_view text) {
    throw RunError(fmt::format("there is no token for '{}', and none for unknown characters", text));
  }

  std::vector<double> scores_;
  UnigramSettings settings_;
  ByteTrie trie_;
  double unknown_score_ = 0;
};

}  // namespace

std::unique_ptr<TokenModel> make_unigram_model(TokenVocabulary vocabulary, std::vector<double> scores,
                                               const UnigramSettings& settings) {
  return std::make_unique<UnigramModel>(std::move(vocabulary), std::move(scores), settings);
}

}  // namespace mtfc
