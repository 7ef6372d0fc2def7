#pragma once
// The table `precompiled_charsmap` of SentencePiece: what to put in place of sequences of characters. In base64, it has
// the size of a double-array trie in bytes, the units of the trie, and the replacements, which end with a zero byte.
// The value of a key in the trie is where its replacement begins.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/diagnostics/error.h"

namespace mtfc {

/// The reason why a table is damaged.
class CharsmapError : public Error {
 public:
  using Error::Error;
};

/// Throws CharsmapError if a table, as bytes, is damaged so that code which trusts it reads beyond its ends.
void check_charsmap(std::string_view bytes);

class Charsmap {
 public:
  /// Without any replacement.
  Charsmap() = default;
  /// Throws CharsmapError.
  explicit Charsmap(std::string_view base64);

  /// Replaces the grapheme clusters and code points of the text that are in the table. As in Rust's implementation, a
  /// cluster of less than 6 bytes is replaced as a whole if it only begins with a key.
  std::string apply(std::string_view text) const;

 private:
  std::optional<std::string_view> replacement(std::string_view characters) const;
  void add_cluster(std::string& result, std::string_view cluster) const;

  std::vector<uint32_t> units_;
  std::string replacements_;
};

}  // namespace mtfc
