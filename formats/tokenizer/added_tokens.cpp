#include "formats/tokenizer/added_tokens.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "formats/tokenizer/code_points.h"
#include "formats/tokenizer/component_keys.h"
#include "formats/tokenizer/normalizer.h"

namespace mtfc {
namespace {

std::string normalized_content(const AddedToken& token, const Normalizer* normalizer) {
  SectionText section{.text = token.content};
  if (normalizer && token.is_normalized) normalizer->apply(section);
  return std::move(section.text);
}

bool is_within_word(std::string_view text, size_t begin, size_t end) {
  return (begin > 0 && is_word_character(code_point_before(text, begin).value)) ||
         (end < text.size() && is_word_character(code_point_at(text, end).value));
}

size_t begin_of_blanks(std::string_view text, size_t end) {
  while (end > 0) {
    const CodePoint point = code_point_before(text, end);
    if (!is_white_space(point.value)) break;
    end -= point.length;
  }
  return end;
}

size_t end_of_blanks(std::string_view text, size_t begin) {
  while (begin < text.size() && is_white_space(code_point_at(text, begin).value))
    begin += code_point_at(text, begin).length;
  return begin;
}

bool is_letter(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0;
}

}  // namespace

AddedTokens::AddedTokens(std::vector<AddedToken> tokens, const Normalizer* normalizer)
    : tokens_(std::move(tokens)) {
  std::vector<std::pair<std::string_view, int32_t>> texts[2];
  normalized_.reserve(tokens_.size());
  for (size_t i = 0; i < tokens_.size(); ++i) {
    const std::string& content = normalized_.emplace_back(normalized_content(tokens_[i], normalizer));
    by_id_[tokens_[i].id] = i;
    texts[tokens_[i].is_normalized ? 1 : 0].emplace_back(content, static_cast<int32_t>(i));
  }
  for (int i = 0; i < 2; ++i) tries_[i] = ByteTrie(std::move(texts[i]));
}

std::vector<TextPart> AddedTokens::split(std::string_view text, bool is_normalized) const {
  std::vector<TextPart> parts;
  const ByteTrie& trie = tries_[is_normalized ? 1 : 0];
  size_t done = 0;
  for (size_t at = 0; at < text.size() && !trie.is_empty();) {
    size_t length = 0;
    int32_t index = -1;
    if (trie.may_begin(static_cast<unsigned char>(text[at])))
      trie.for_each_at(text, at, [&](size_t size, int32_t number) {
        length = size;
        index = number;
      });
    if (index < 0) {
      ++at;
      continue;
    }
    const AddedToken& token = tokens_[static_cast<size_t>(index)];
    size_t begin = at, end = at + length;
    at = end;
    if (token.is_word && is_within_word(text, begin, end)) continue;
    if (token.strips_left) begin = std::max(begin_of_blanks(text, begin), done);
    if (token.strips_right) end = end_of_blanks(text, end);
    if (done < begin) parts.push_back({done, begin, -1});
    parts.push_back({begin, end, token.id});
    done = end;
  }
  if (done < text.size()) parts.push_back({done, text.size(), -1});
  return parts;
}

const AddedToken* AddedTokens::find(int32_t id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : &tokens_[found->second];
}

const AddedToken* AddedTokens::find(std::string_view content) const {
  const auto found = std::find_if(tokens_.begin(), tokens_.end(),
                                  [&](const AddedToken& token) { return token.content == content; });
  return found == tokens_.end() ? nullptr : &*found;
}

int32_t AddedTokens::size() const {
  return by_id_.empty() ? 0 : by_id_.rbegin()->first + 1;
}

bool AddedTokens::keep_line_starts(bool prepends) const {
  for (size_t i = 0; i < tokens_.size(); ++i) {
    const std::string& text = normalized_[i];
    if (text.empty()) continue;
    for (size_t at = 0; at + 1 < text.size(); ++at)
      if (text[at] == '\n' && is_letter(text[at + 1])) return false;
    if (tokens_[i].strips_left && is_letter(text.front())) return false;
    if ((tokens_[i].is_word || prepends) && text.back() == '\n') return false;
    if (tokens_[i].strips_right && prepends) return false;
  }
  return true;
}

std::vector<AddedToken> read_added_tokens(const Cursor& json, const TokenVocabulary& vocabulary) {
  std::vector<AddedToken> tokens;
  for (const Cursor& item : json.items("a list of added tokens")) {
    if (!item.check_keys({"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"}))
      continue;
    const auto id = item.require("id"), content = item.require("content");
    if (!id || !content) continue;
    AddedToken token{.content = string_of(item, "content", "")};
    const int64_t number = integer_of(item, "id", 0);
    if (number < 0 || number > kLargestTokenId) {
      id->error(fmt::format("expected an id from 0 to {}", kLargestTokenId));
      continue;
    }
    token.id = static_cast<int32_t>(number);
    const int32_t known = vocabulary.id(token.content).value_or(token.id);
    if (known != token.id)
      id->error(fmt::format("'{}' has the id {} in the vocabulary", token.content, known));
    token.is_special = flag_of(item, "special", false);
    token.is_normalized = flag_of(item, "normalized", !token.is_special);
    token.strips_left = flag_of(item, "lstrip", false);
    token.strips_right = flag_of(item, "rstrip", false);
    token.is_word = flag_of(item, "single_word", false);
    tokens.push_back(std::move(token));
  }
  return tokens;
}

}  // namespace mtfc
