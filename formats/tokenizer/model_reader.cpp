#include <fmt/format.h>

#include <algorithm>

#include "formats/tokenizer/bpe_model.h"
#include "formats/tokenizer/component_keys.h"
#include "formats/tokenizer/token_model.h"
#include "formats/tokenizer/unigram_model.h"
#include "formats/tokenizer/word_models.h"

namespace mtfc {
namespace {

using ModelPointer = std::unique_ptr<TokenModel>;

constexpr const char* kBpe = "BPE";
constexpr const char* kUnigram = "Unigram";
constexpr const char* kWordPiece = "WordPiece";
constexpr const char* kWordLevel = "WordLevel";

Cursor member(const Cursor& json, const JsonMember& entry) {
  return *json.find(entry.key);
}

// The tokens of an object of ids. Cursors are only made for mistakes, because there are hundreds of thousands of
// entries.
TokenVocabulary read_vocabulary(const Cursor& model) {
  TokenVocabulary vocabulary;
  const auto json = model.require("vocab");
  if (!json) return vocabulary;
  if (!json->is(JsonKind::kObject)) {
    json->expected("an object of tokens with their ids");
    return vocabulary;
  }
  const auto& members = json->value().members;
  std::vector<int32_t> ids;
  ids.reserve(members.size());
  int32_t largest = -1;
  for (const JsonMember& entry : members) {
    const auto id = entry.value.kind == JsonKind::kNumber ? entry.value.integer() : std::nullopt;
    if (!id || *id < 0 || *id > kLargestTokenId) {
      member(*json, entry).error(fmt::format("expected an id from 0 to {}", kLargestTokenId));
      return vocabulary;
    }
    ids.push_back(static_cast<int32_t>(*id));
    largest = std::max(largest, ids.back());
  }
  vocabulary.reserve(members.size(), largest);
  for (size_t i = 0; i < members.size(); ++i) vocabulary.add(members[i].key, ids[i]);
  return vocabulary;
}

// The two tokens of a merge: ["a", "b"], or "a b" in older files.
std::optional<std::pair<std::string_view, std::string_view>> merged_tokens(const JsonValue& merge) {
  if (merge.kind == JsonKind::kString) {
    const size_t blank = merge.text.find(' ');
    if (blank == std::string::npos || merge.text.find(' ', blank + 1) != std::string::npos)
      return std::nullopt;
    const std::string_view text = merge.text;
    return std::pair(text.substr(0, blank), text.substr(blank + 1));
  }
  if (merge.kind != JsonKind::kArray || merge.items.size() != 2) return std::nullopt;
  const JsonValue &left = merge.items[0], &right = merge.items[1];
  if (left.kind != JsonKind::kString || right.kind != JsonKind::kString) return std::nullopt;
  return std::pair<std::string_view, std::string_view>(left.text, right.text);
}

std::vector<TokenPair> read_merges(const Cursor& model, const TokenVocabulary& vocabulary,
                                   const std::string& prefix) {
  std::vector<TokenPair> pairs;
  const auto json = model.require("merges");
  if (!json) return pairs;
  if (!json->is(JsonKind::kArray)) {
    json->expected("a list of merges");
    return pairs;
  }
  const auto& items = json->value().items;
  pairs.reserve(items.size());
  std::string merged;
  for (size_t i = 0; i < items.size(); ++i) {
    const auto tokens = merged_tokens(items[i]);
    if (!tokens) {
      json->item(i).error("expected a merge, which is a pair of tokens");
      return pairs;
    }
    const auto [left, right] = *tokens;
    merged = left;
    merged += right.substr(right.starts_with(prefix) ? prefix.size() : 0);
    const auto left_id = vocabulary.id(left), right_id = vocabulary.id(right),
               merged_id = vocabulary.id(merged);
    if (!left_id || !right_id || !merged_id) {
      json->item(i).error(fmt::format("the token '{}' is not in the vocabulary", !left_id    ? left
                                                                                 : !right_id ? right
                                                                                             : merged));
      return pairs;
    }
    pairs.push_back({*left_id, *right_id, *merged_id});
  }
  return pairs;
}

ModelPointer read_bpe_model(const Cursor& json) {
  json.check_keys({"type", "dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix",
                   "fuse_unk", "byte_fallback", "ignore_merges", "vocab", "merges"});
  if (const auto dropout = json.find("dropout");
      !is_absent(dropout) && !(dropout->is(JsonKind::kNumber) && dropout->value().number() == 0))
    dropout->error("dropout is for training tokenizers, and must be null or 0");
  BpeSettings settings;
  settings.unknown = optional_string_of(json, "unk_token");
  settings.continuing_prefix = string_of(json, "continuing_subword_prefix", "");
  settings.end_suffix = string_of(json, "end_of_word_suffix", "");
  settings.fuse_unknown = flag_of(json, "fuse_unk", false);
  settings.byte_fallback = flag_of(json, "byte_fallback", false);
  settings.ignore_merges = flag_of(json, "ignore_merges", false);
  TokenVocabulary vocabulary = read_vocabulary(json);
  if (json.sink().failed()) return nullptr;
  if (settings.unknown && !vocabulary.id(*settings.unknown))
    json.find("unk_token")->error(fmt::format("the token '{}' is not in the vocabulary", *settings.unknown));
  const std::vector<TokenPair> merges = read_merges(json, vocabulary, settings.continuing_prefix);
  if (json.sink().failed()) return nullptr;
  return make_bpe_model(std::move(vocabulary), merges, settings);
}

ModelPointer read_word_piece_model(const Cursor& json) {
  json.check_keys({"type", "unk_token", "continuing_subword_prefix", "max_input_chars_per_word", "vocab"});
  WordPieceSettings settings;
  settings.unknown = string_of(json, "unk_token", settings.unknown);
  settings.continuing_prefix = string_of(json, "continuing_subword_prefix", settings.continuing_prefix);
  const int64_t longest =
      integer_of(json, "max_input_chars_per_word", static_cast<int64_t>(settings.longest_word));
  settings.longest_word = static_cast<size_t>(std::max<int64_t>(longest, 0));
  TokenVocabulary vocabulary = read_vocabulary(json);
  if (json.sink().failed()) return nullptr;
  return make_word_piece_model(std::move(vocabulary), settings);
}

ModelPointer read_word_level_model(const Cursor& json) {
  json.check_keys({"type", "unk_token", "vocab"});
  const std::string unknown = string_of(json, "unk_token", "<unk>");
  TokenVocabulary vocabulary = read_vocabulary(json);
  if (json.sink().failed()) return nullptr;
  return make_word_level_model(std::move(vocabulary), unknown);
}

bool is_scored_token(const JsonValue& item) {
  return item.kind == JsonKind::kArray && item.items.size() == 2 && item.items[0].kind == JsonKind::kString &&
         item.items[1].kind == JsonKind::kNumber;
}

ModelPointer read_unigram_model(const Cursor& json) {
  json.check_keys({"type", "unk_id", "byte_fallback", "vocab"});
  UnigramSettings settings;
  settings.byte_fallback = flag_of(json, "byte_fallback", false);
  const auto list = json.require("vocab");
  if (!list) return nullptr;
  if (!list->is(JsonKind::kArray)) {
    list->expected("a list of tokens with their scores");
    return nullptr;
  }
  const auto& items = list->value().items;
  if (items.size() > static_cast<size_t>(kLargestTokenId)) {
    list->error(fmt::format("a vocabulary has at most {} tokens", kLargestTokenId));
    return nullptr;
  }
  TokenVocabulary vocabulary;
  std::vector<double> scores;
  vocabulary.reserve(items.size(), static_cast<int32_t>(items.size()) - 1);
  for (size_t i = 0; i < items.size(); ++i) {
    if (!is_scored_token(items[i])) {
      list->item(i).error("expected a token with its score");
      return nullptr;
    }
    vocabulary.add(items[i].items[0].text, static_cast<int32_t>(i));
    scores.push_back(items[i].items[1].number());
  }
  if (const auto unknown = json.find("unk_id"); !is_absent(unknown)) {
    const auto id = unknown->integer();
    if (id && (*id < 0 || *id >= vocabulary.size())) unknown->error("there is no token with this id");
    if (id) settings.unknown = static_cast<int32_t>(*id);
  }
  if (json.sink().failed()) return nullptr;
  return make_unigram_model(std::move(vocabulary), std::move(scores), settings);
}

// Files of the first versions of the format do not name the kind of their model.
const char* type_by_keys(const Cursor& json) {
  if (json.find("merges")) return kBpe;
  if (const auto vocabulary = json.find("vocab"); vocabulary && vocabulary->is(JsonKind::kArray))
    return kUnigram;
  return json.find("continuing_subword_prefix") ? kWordPiece : kWordLevel;
}

}  // namespace

std::unique_ptr<TokenModel> read_token_model(const Cursor& json) {
  static constexpr ComponentKind<ModelPointer> kKinds[] = {{kBpe, read_bpe_model},
                                                           {kUnigram, read_unigram_model},
                                                           {kWordPiece, read_word_piece_model},
                                                           {kWordLevel, read_word_level_model}};
  if (!json.is(JsonKind::kObject) || json.find("type")) return read_component(json, "a model", kKinds);
  for (const auto& kind : kKinds)
    if (kind.type == type_by_keys(json)) return kind.read(json);
  return nullptr;
}

}  // namespace mtfc
