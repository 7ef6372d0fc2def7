#pragma once
// The ids of words that have been tokenized before. It is bounded: when it is full, it begins anew, and the words that
// are frequent come back at once.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mtfc {

uint64_t hash_of_word(std::string_view word);

class WordCache {
 public:
  /// Longer words are rare, and not kept.
  static constexpr size_t kLongestWord = 64;

  /// Nothing if the word is not known. The ids are valid until the next add().
  std::optional<std::span<const int32_t>> find(std::string_view word, uint64_t hash) const;
  /// A word that find() does not know.
  void add(std::string_view word, uint64_t hash, std::span<const int32_t> ids);

 private:
  static constexpr size_t kFewestSlots = 1 << 10, kMostSlots = 1 << 18;
  struct Slot {
    uint64_t hash = 0;
    uint32_t word_begin = 0, ids_begin = 0;
    uint16_t word_size = 0, id_count = 0;  // a size of 0: empty
  };
  void make_room();
  void insert(const Slot& slot);

  std::vector<Slot> slots_ = std::vector<Slot>(kFewestSlots);
  size_t used_ = 0;
  std::string words_;
  std::vector<int32_t> ids_;
};

}  // namespace mtfc
