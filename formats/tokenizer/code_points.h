#pragma once
// Text as code points: UTF-8, and the properties of Unicode that tokenizers ask for. The properties come from utf8proc.

#include <cstdint>
#include <string>
#include <string_view>

namespace mtfc {

struct CodePoint {
  uint32_t value = 0;
  size_t length = 0;  // in bytes
};

/// The code point that begins at `at`, which must be inside of `text`. The text must be valid UTF-8.
inline CodePoint code_point_at(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<uint32_t>(static_cast<unsigned char>(text[at + i])); };
  const uint32_t first = byte(0);
  if (first < 0x80) return {first, 1};
  if (first < 0xE0) return {(first & 0x1F) << 6 | (byte(1) & 0x3F), 2};
  if (first < 0xF0) return {(first & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F), 3};
  return {(first & 0x07) << 18 | (byte(1) & 0x3F) << 12 | (byte(2) & 0x3F) << 6 | (byte(3) & 0x3F), 4};
}

/// The code point that ends before `end`, which must be above 0.
CodePoint code_point_before(std::string_view text, size_t end);

void append_code_point(std::string& text, uint32_t value);
std::string to_utf8(uint32_t value);

/// Calls `visit(CodePoint, offset)` for each code point of valid UTF-8.
template <typename Visit>
void for_each_code_point(std::string_view text, Visit visit) {
  for (size_t at = 0; at < text.size();) {
    const CodePoint point = code_point_at(text, at);
    visit(point, at);
    at += point.length;
  }
}
size_t count_code_points(std::string_view text);

/// The number of bytes at the beginning of `text` that are valid UTF-8, in whole code points.
size_t valid_prefix(std::string_view text);
/// The text with U+FFFD in place of what is not UTF-8, one for each longest beginning of a code point.
std::string repaired_utf8(std::string_view text);
bool is_ascii(std::string_view text);

bool is_white_space(uint32_t value);            // the property White_Space
bool is_punctuation(uint32_t value);            // ASCII punctuation, or one of the categories P
bool is_number(uint32_t value);                 // the categories N
bool is_mark(uint32_t value);                   // the categories M
bool is_nonspacing_mark(uint32_t value);        // the category Mn
bool is_control_or_unassigned(uint32_t value);  // the categories C
bool is_word_character(
    uint32_t value);              // Alphabetic, M, Nd, Pc and Join_Control, as \w of Rust's crate regex
bool is_chinese(uint32_t value);  // the blocks that BERT treats as Chinese

/// The text in small letters, each by itself: a sigma at the end of a word stays σ.
std::string lower_case(std::string_view text);

enum class NormalForm { kNfc, kNfd, kNfkc, kNfkd };
std::string in_normal_form(std::string_view text, NormalForm form);

}  // namespace mtfc
