#pragma once
// The rules by which a tokenizer makes ids of texts, and texts of ids: those of a tokenizer.json, or those of a model
// of sentencepiece. Tokenizer adds what is the same for both.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/tokenizer/post_processor.h"

namespace mtfc {

/// Immutable; several threads may use it at once.
class TokenizerRules {
 public:
  virtual ~TokenizerRules() = default;

  /// Appends the ids of `text`, which is UTF-8. `is_rest`: the text continues another one. Throws RunError.
  virtual void encode(std::string_view text, bool is_rest, std::vector<int32_t>& ids) const = 0;
  /// Throws RunError for an id that is no token's.
  virtual std::string decode(std::span<const int32_t> ids, bool skip_special) const = 0;

  virtual const SpecialFrame& frame() const = 0;
  virtual bool may_cut_lines() const = 0;
  virtual int32_t size() const = 0;  // All ids are below it.
  virtual std::optional<int32_t> id(std::string_view token) const = 0;
  virtual std::optional<std::string> token(int32_t id) const = 0;

  /// The token with this id. Throws RunError if there is none.
  std::string known_token(int32_t id) const;
};

/// Reads the text of a tokenizer.json; `file` is used in messages. Throws UserError with all mistakes that are found.
std::unique_ptr<const TokenizerRules> read_json_rules(std::string_view text, const std::string& file);

/// Reads the bytes of a model of sentencepiece. Throws UserError if they are damaged.
std::unique_ptr<const TokenizerRules> read_sentencepiece_rules(std::string_view bytes,
                                                               const std::string& file);

}  // namespace mtfc
