#include "formats/tokenizer/vocabulary.h"

#include <fmt/format.h>

#include "core/diagnostics/error.h"

namespace mtfc {

void TokenVocabulary::reserve(size_t count, int32_t largest) {
  check_invariant(texts_.empty(), "a vocabulary is reserved before it is filled");
  texts_.reserve(count);
  ids_.reserve(count);
  tokens_.resize(static_cast<size_t>(largest) + 1);
}

void TokenVocabulary::add(std::string_view token, int32_t id) {
  check_invariant(texts_.size() < texts_.capacity(), "a vocabulary has more tokens than were reserved");
  const std::string& text = texts_.emplace_back(token);
  tokens_.at(static_cast<size_t>(id)) = &text;
  ids_[text] = id;
}

std::optional<std::string_view> TokenVocabulary::token(int32_t id) const {
  const auto index = static_cast<size_t>(id);
  if (id < 0 || index >= tokens_.size() || !tokens_[index]) return std::nullopt;
  return *tokens_[index];
}

std::string byte_token(unsigned char byte) {
  return fmt::format("<0x{:02X}>", byte);
}

}  // namespace mtfc
