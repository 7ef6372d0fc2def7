#pragma once
// The tokens of a tokenizer with their ids. Ids need not be without gaps.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace mtfc {

/// Larger ids are refused, because tables have a row for each id.
inline constexpr int64_t kLargestTokenId = (1 << 24) - 1;

class TokenVocabulary {
 public:
  TokenVocabulary() = default;
  // The texts of the map lie in the table.
  TokenVocabulary(const TokenVocabulary&) = delete;
  TokenVocabulary& operator=(const TokenVocabulary&) = delete;
  TokenVocabulary(TokenVocabulary&&) = default;
  TokenVocabulary& operator=(TokenVocabulary&&) = default;

  /// Makes room for `count` tokens, all ids of which are at most `largest`. Comes before add().
  void reserve(size_t count, int32_t largest);
  /// Of several tokens with the same id, the last one is the text of the id.
  void add(std::string_view token, int32_t id);

  std::optional<int32_t> id(std::string_view token) const {
    const auto found = ids_.find(token);
    return found == ids_.end() ? std::nullopt : std::optional(found->second);
  }
  /// Nothing if there is no such id.
  std::optional<std::string_view> token(int32_t id) const;
  /// The largest id and one more.
  int32_t size() const { return static_cast<int32_t>(tokens_.size()); }
  size_t count() const { return ids_.size(); }
  const std::unordered_map<std::string_view, int32_t>& ids() const { return ids_; }

 private:
  std::vector<std::string> texts_;  // reserved, so that its elements stay where they are
  std::vector<const std::string*> tokens_;
  std::unordered_map<std::string_view, int32_t> ids_;
};

/// The token of a byte in vocabularies that fall back on bytes: `<0x0A>`.
std::string byte_token(unsigned char byte);

}  // namespace mtfc
