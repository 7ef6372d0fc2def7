#pragma once
// The tokens of a tokenizer with their ids. Ids need not be without gaps.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mtfc {

/// Larger ids are refused, because tables have a row for each id.
inline constexpr int64_t kLargestTokenId = (1 << 24) - 1;

class TokenVocabulary {
 public:
  struct Entry {
    std::string text;
    int32_t id = 0;
  };

  /// Makes room for `count` tokens, all ids of which are at most `largest`. Comes before add().
  void reserve(size_t count, int32_t largest);
  /// Of several tokens with the same id, the last one is the text of the id; of several ids of a token, the last one is
  /// its id.
  void add(std::string_view token, int32_t id);

  std::optional<int32_t> id(std::string_view token) const;
  /// Nothing if there is no such id.
  std::optional<std::string_view> token(int32_t id) const;
  /// The largest id and one more.
  int32_t size() const { return static_cast<int32_t>(by_id_.size()); }
  /// All different tokens.
  const std::vector<Entry>& entries() const { return entries_; }

 private:
  // A place in entries_, in a table with open addressing.
  struct Slot {
    uint32_t hash = 0;
    int32_t entry = -1;  // -1: empty
  };
  size_t place(std::string_view token, uint64_t hash) const;

  std::vector<Entry> entries_;
  std::vector<int32_t> by_id_;  // places in entries_; -1: there is no such id
  std::vector<Slot> slots_;     // a power of two
};

/// The token of a byte in vocabularies that fall back on bytes: `<0x0A>`.
std::string byte_token(unsigned char byte);

}  // namespace mtfc
