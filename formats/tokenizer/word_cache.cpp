#include "formats/tokenizer/word_cache.h"

#include <cstring>

namespace mtfc {

uint64_t hash_of_word(std::string_view word) {
  constexpr uint64_t kFactor = 0x9E3779B97F4A7C15;
  uint64_t hash = word.size() * kFactor;
  const auto mix = [&](uint64_t bits) {
    hash = (hash ^ bits) * kFactor;
    hash ^= hash >> 29;
  };
  const char* at = word.data();
  size_t left = word.size();
  uint64_t bits = 0;
  for (; left >= sizeof(bits); left -= sizeof(bits), at += sizeof(bits)) {
    std::memcpy(&bits, at, sizeof(bits));
    mix(bits);
  }
  bits = 0;
  std::memcpy(&bits, at, left);
  mix(bits);
  return hash ^ hash >> 32;
}

std::optional<std::span<const int32_t>> WordCache::find(std::string_view word, uint64_t hash) const {
  const size_t mask = slots_.size() - 1;
  for (size_t at = hash & mask;; at = (at + 1) & mask) {
    const Slot& slot = slots_[at];
    if (slot.word_size == 0) return std::nullopt;
    if (slot.hash == hash && slot.word_size == word.size() &&
        std::memcmp(words_.data() + slot.word_begin, word.data(), word.size()) == 0)
      return std::span(ids_).subspan(slot.ids_begin, slot.id_count);
  }
}

void WordCache::add(std::string_view word, uint64_t hash, std::span<const int32_t> ids) {
  if (word.empty() || word.size() > kLongestWord || ids.size() > kLongestWord) return;
  if (2 * (used_ + 1) > slots_.size()) make_room();
  insert({hash, static_cast<uint32_t>(words_.size()), static_cast<uint32_t>(ids_.size()),
          static_cast<uint16_t>(word.size()), static_cast<uint16_t>(ids.size())});
  ++used_;
  words_ += word;
  ids_.insert(ids_.end(), ids.begin(), ids.end());
}

void WordCache::make_room() {
  if (slots_.size() == kMostSlots) {
    slots_.assign(kMostSlots, {});
    words_.clear();
    ids_.clear();
    used_ = 0;
    return;
  }
  const std::vector<Slot> before = std::move(slots_);
  slots_.assign(4 * before.size(), {});
  for (const Slot& slot : before)
    if (slot.word_size > 0) insert(slot);
}

void WordCache::insert(const Slot& slot) {
  const size_t mask = slots_.size() - 1;
  size_t at = slot.hash & mask;
  while (slots_[at].word_size > 0) at = (at + 1) & mask;
  slots_[at] = slot;
}

}  // namespace mtfc
