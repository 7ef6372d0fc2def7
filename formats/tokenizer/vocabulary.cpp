#include "formats/tokenizer/vocabulary.h"

#include <fmt/format.h>

#include <bit>

#include "core/diagnostics/error.h"
#include "formats/tokenizer/word_cache.h"

namespace mtfc {

void TokenVocabulary::reserve(size_t count, int32_t largest) {
  check_invariant(entries_.empty(), "a vocabulary is reserved before it is filled");
  entries_.reserve(count);
  by_id_.assign(static_cast<size_t>(largest) + 1, -1);
  slots_.assign(std::bit_ceil(2 * count + 1), {});
}

// The slot of the token, or the empty one where it would be.
size_t TokenVocabulary::place(std::string_view token, uint64_t hash) const {
  const size_t mask = slots_.size() - 1;
  size_t at = hash & mask;
  while (slots_[at].entry >= 0 && !(slots_[at].hash == static_cast<uint32_t>(hash >> 32) &&
                                    entries_[static_cast<size_t>(slots_[at].entry)].text == token))
    at = (at + 1) & mask;
  return at;
}

void TokenVocabulary::add(std::string_view token, int32_t id) {
  const uint64_t hash = hash_of_word(token);
  Slot& slot = slots_.at(place(token, hash));
  if (slot.entry < 0) {
    check_invariant(2 * entries_.size() < slots_.size(), "a vocabulary has more tokens than were reserved");
    slot = {static_cast<uint32_t>(hash >> 32), static_cast<int32_t>(entries_.size())};
    entries_.push_back({std::string(token), id});
  }
  entries_[static_cast<size_t>(slot.entry)].id = id;
  by_id_.at(static_cast<size_t>(id)) = slot.entry;
}

std::optional<int32_t> TokenVocabulary::id(std::string_view token) const {
  if (slots_.empty()) return std::nullopt;
  const int32_t entry = slots_[place(token, hash_of_word(token))].entry;
  return entry < 0 ? std::nullopt : std::optional(entries_[static_cast<size_t>(entry)].id);
}

std::optional<std::string_view> TokenVocabulary::token(int32_t id) const {
  const auto index = static_cast<size_t>(id);
  if (id < 0 || index >= by_id_.size() || by_id_[index] < 0) return std::nullopt;
  return entries_[static_cast<size_t>(by_id_[index])].text;
}

std::string byte_token(unsigned char byte) {
  return fmt::format("<0x{:02X}>", byte);
}

}  // namespace mtfc
