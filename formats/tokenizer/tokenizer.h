#pragma once
// The tokenizer of a published model, as its tokenizer.json or its model of sentencepiece describes it: from a text to
// the ids of tokens, and back. The steps of a tokenizer.json are these; the library of sentencepiece has its own.
//
//   text ── added tokens ──> sections ── normalizer, pre-tokenizer ──> words ── model ──> ids ── post-processor ──> ids
//
// Bytes of a text that are not UTF-8 count as U+FFFD, one for each longest beginning of a code point, as in a text that
// has been read by Rust's from_utf8_lossy or Python's errors='replace'. Anything in the file that is not understood is
// an error. `truncation` and `padding`, by which a program shortens and pads its batches, are not applied.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mtfc {

class TokenizerRules;

enum class SpecialTokens { kNone, kAround };  // what encode() puts around a text

/// Immutable; several threads may use it at once.
class Tokenizer {
 public:
  /// Reads the text of a tokenizer.json; `file` is used in messages. Throws UserError with all mistakes that are found.
  static Tokenizer from_json(std::string_view text, const std::string& file);
  /// Likewise for a model of sentencepiece, if the name ends in .model or the bytes begin like one.
  static Tokenizer from_file(std::string_view bytes, const std::string& file);
  ~Tokenizer();
  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;

  /// Throws RunError if there is no token for something in the text, nor one for what is unknown.
  std::vector<int32_t> encode(std::string_view text, SpecialTokens special = SpecialTokens::kNone) const;
  /// Like encode(), for a part of a text that continues what is not here: nothing is put in front of it.
  std::vector<int32_t> encode_rest(std::string_view text) const;
  /// Throws RunError for an id that is no token's.
  std::string decode(std::span<const int32_t> ids, bool skip_special = false) const;

  /// The ids that SpecialTokens::kAround puts before and after a text.
  const std::vector<int32_t>& ids_before() const;
  const std::vector<int32_t>& ids_after() const;

  /// All ids are below it.
  int32_t size() const;
  std::optional<int32_t> id(std::string_view token) const;
  std::optional<std::string> token(int32_t id) const;

  /// True if a text may be cut between a line feed and an ASCII letter: its ids are then those of the first part, which
  /// encode_lines() gives, and those that encode_rest() gives for the second.
  bool may_cut_lines() const;
  /// The ids of `text`, where `next` is the letter that follows behind it. `is_rest`: the text continues another one.
  std::vector<int32_t> encode_lines(std::string_view text, char next, bool is_rest) const;

 private:
  explicit Tokenizer(std::unique_ptr<const TokenizerRules> rules);
  void append(std::string_view text, bool is_rest, std::vector<int32_t>& ids) const;
  std::unique_ptr<const TokenizerRules> rules_;
};

}  // namespace mtfc
