#include "formats/tokenizer/code_points.h"

#include <utf8proc.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "core/diagnostics/error.h"
#include "formats/tokenizer/text_pattern.h"

namespace mtfc {
namespace {

utf8proc_category_t category(uint32_t value) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(value));
}

bool is_continuation(char c) {
  return (static_cast<unsigned char>(c) & 0xC0) == 0x80;
}

// The length of the longest beginning of `text` that begins some code point; at least 1. The text is not empty and does
// not begin with a whole code point.
size_t broken_length(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  const size_t whole = first >= 0xC2 && first < 0xE0  ? 2
                       : first < 0xC2 || first > 0xF4 ? 1
                       : first < 0xF0                 ? 3
                                                      : 4;
  if (whole < 3 || text.size() < 2) return 1;
  // The second byte is bounded so that a code point is neither overlong, nor a surrogate, nor beyond U+10FFFF.
  const unsigned char least = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  const unsigned char most = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  if (byte(1) < least || byte(1) > most) return 1;
  size_t length = 2;
  while (length + 1 < whole && length < text.size() && is_continuation(text[length])) ++length;
  return length;
}

size_t ascii_prefix(std::string_view text) {
  size_t at = 0;
  for (uint64_t word; at + sizeof(word) <= text.size(); at += sizeof(word)) {
    std::memcpy(&word, text.data() + at, sizeof(word));
    if ((word & 0x8080808080808080) != 0) break;
  }
  while (at < text.size() && static_cast<unsigned char>(text[at]) < 0x80) ++at;
  return at;
}

// Code points below this stay as they are in the normal form, and also what they are composed with.
uint32_t first_changed(NormalForm form) {
  return form == NormalForm::kNfc ? 0x300 : form == NormalForm::kNfkc ? 0xA0 : 0x80;
}

bool stays(std::string_view text, NormalForm form) {
  const uint32_t bound = first_changed(form);
  for (size_t at = ascii_prefix(text); at < text.size();) {
    const CodePoint point = code_point_at(text, at);
    if (point.value >= bound) return false;
    at += point.length;
  }
  return true;
}

int utf8proc_options(NormalForm form) {
  const bool composes = form == NormalForm::kNfc || form == NormalForm::kNfkc;
  const bool is_compatible = form == NormalForm::kNfkc || form == NormalForm::kNfkd;
  return UTF8PROC_STABLE | (composes ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE) |
         (is_compatible ? UTF8PROC_COMPAT : 0);
}

void append_normal_form(std::string& result, std::string_view text, NormalForm form) {
  if (stays(text, form)) {
    result += text;
    return;
  }
  utf8proc_uint8_t* mapped = nullptr;
  const utf8proc_ssize_t size = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                             static_cast<utf8proc_ssize_t>(text.size()), &mapped,
                                             static_cast<utf8proc_option_t>(utf8proc_options(form)));
  const std::unique_ptr<utf8proc_uint8_t, void (*)(void*)> owner(mapped, std::free);
  if (size < 0) throw RunError(utf8proc_errmsg(size));
  result.append(reinterpret_cast<const char*>(mapped), static_cast<size_t>(size));
}

}  // namespace

CodePoint code_point_before(std::string_view text, size_t end) {
  size_t at = end - 1;
  while (at > 0 && is_continuation(text[at])) --at;
  return code_point_at(text, at);
}

void append_code_point(std::string& text, uint32_t value) {
  utf8proc_uint8_t bytes[4];
  const auto size = utf8proc_encode_char(static_cast<utf8proc_int32_t>(value), bytes);
  text.append(reinterpret_cast<const char*>(bytes), static_cast<size_t>(size));
}

std::string to_utf8(uint32_t value) {
  std::string text;
  append_code_point(text, value);
  return text;
}

size_t count_code_points(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return !is_continuation(c); }));
}

size_t valid_prefix(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    at += ascii_prefix(text.substr(at));
    if (at == text.size()) break;
    utf8proc_int32_t value = 0;
    const utf8proc_ssize_t length =
        utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data() + at),
                         static_cast<utf8proc_ssize_t>(text.size() - at), &value);
    if (length < 0) break;
    at += static_cast<size_t>(length);
  }
  return at;
}

std::string repaired_utf8(std::string_view text) {
  std::string repaired;
  while (true) {
    const size_t valid = valid_prefix(text);
    repaired += text.substr(0, valid);
    text.remove_prefix(valid);
    if (text.empty()) return repaired;
    append_code_point(repaired, 0xFFFD);
    text.remove_prefix(broken_length(text));
  }
}

bool is_ascii(std::string_view text) {
  return ascii_prefix(text) == text.size();
}

bool is_white_space(uint32_t value) {
  if (value < 0x80) return value == ' ' || (value >= 9 && value <= 13);
  const utf8proc_category_t kind = category(value);
  return value == 0x85 || (kind >= UTF8PROC_CATEGORY_ZS && kind <= UTF8PROC_CATEGORY_ZP);
}

bool is_punctuation(uint32_t value) {
  if (value < 0x80) return value > ' ' && value < 0x7F && std::isalnum(static_cast<int>(value)) == 0;
  const utf8proc_category_t kind = category(value);
  return kind >= UTF8PROC_CATEGORY_PC && kind <= UTF8PROC_CATEGORY_PO;
}

bool is_number(uint32_t value) {
  const utf8proc_category_t kind = category(value);
  return kind >= UTF8PROC_CATEGORY_ND && kind <= UTF8PROC_CATEGORY_NO;
}

bool is_mark(uint32_t value) {
  const utf8proc_category_t kind = category(value);
  return kind >= UTF8PROC_CATEGORY_MN && kind <= UTF8PROC_CATEGORY_ME;
}

bool is_nonspacing_mark(uint32_t value) {
  return category(value) == UTF8PROC_CATEGORY_MN;
}

bool is_control_or_unassigned(uint32_t value) {
  const utf8proc_category_t kind = category(value);
  return kind == UTF8PROC_CATEGORY_CN || kind >= UTF8PROC_CATEGORY_CC;
}

bool is_word_character(uint32_t value) {
  if (value < 0x80) return value == '_' || std::isalnum(static_cast<int>(value)) != 0;
  static const TextPattern kWord = TextPattern::expression("[\\w]");  // Outside of brackets, it has others.
  if (value == 0x200C || value == 0x200D) return true;
  return kWord.find(to_utf8(value), 0).has_value();
}

bool is_chinese(uint32_t value) {
  return (value >= 0x4E00 && value <= 0x9FFF) || (value >= 0x3400 && value <= 0x4DBF) ||
         (value >= 0x20000 && value <= 0x2A6DF) || (value >= 0x2A700 && value <= 0x2B73F) ||
         (value >= 0x2B740 && value <= 0x2B81F) || (value >= 0x2B920 && value <= 0x2CEAF) ||
         (value >= 0xF900 && value <= 0xFAFF) || (value >= 0x2F800 && value <= 0x2FA1F);
}

std::string lower_case(std::string_view text) {
  constexpr uint32_t kCapitalIWithDot = 0x130;  // the only letter whose small form has two code points
  std::string lower;
  lower.reserve(text.size());
  for_each_code_point(text, [&](CodePoint point, size_t) {
    if (point.value < 0x80)
      lower += static_cast<char>(point.value >= 'A' && point.value <= 'Z' ? point.value + 32 : point.value);
    else if (point.value == kCapitalIWithDot)
      lower += "i\u0307";
    else
      append_code_point(lower,
                        static_cast<uint32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(point.value))));
  });
  return lower;
}

std::string in_normal_form(std::string_view text, NormalForm form) {
  std::string result;
  result.reserve(text.size());
  // A line feed is composed with nothing, so that most lines can be seen to stay as they are.
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    append_normal_form(result, text.substr(0, end), form);
    text.remove_prefix(end);
  }
  return result;
}

}  // namespace mtfc
