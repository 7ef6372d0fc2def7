#include "core/diagnostics/printable.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>

namespace mtfc {
namespace {

struct Character {
  uint32_t code = 0;
  size_t bytes = 0;  // 0 if the bytes are not UTF-8
};

// The first character of `text`, which is not empty. Overlong forms and surrogates are not UTF-8.
Character first_character(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint32_t>(static_cast<unsigned char>(text[i])); };
  if (byte(0) < 0x80) return {byte(0), 1};
  const size_t length = byte(0) >= 0xF0 && byte(0) < 0xF8   ? 4
                        : byte(0) >= 0xE0 && byte(0) < 0xF0 ? 3
                        : byte(0) >= 0xC0 && byte(0) < 0xE0 ? 2
                                                            : 0;
  if (length == 0 || text.size() < length) return {};
  uint32_t code = byte(0) & (0x7Fu >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3F);
  }
  constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < kLeast[length] || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) return {};
  return {code, length};
}

bool is_control(uint32_t code) {
  const auto within = [&](uint32_t first, uint32_t last) { return code >= first && code <= last; };
  return code < 0x20 || within(0x7F, 0x9F)            // C0, DEL, C1
         || code == 0x061C || within(0x200E, 0x200F)  // marks of direction
         || within(0x2028, 0x202E)                    // separators of lines, embeddings, overrides
         || within(0x2066, 0x2069);                   // isolates
}

std::string escape(uint32_t code) {
  if (code == '\n') return "\\n";
  return code < 0x80 ? fmt::format("\\x{:02x}", code) : fmt::format("\\u{:04x}", code);
}

}  // namespace

std::string printable(std::string_view text) {
  std::string shown;
  shown.reserve(text.size());
  while (!text.empty()) {
    const auto [code, bytes] = first_character(text);
    if (bytes == 0)
      shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[0]));
    else if (is_control(code))
      shown += escape(code);
    else
      shown += text.substr(0, bytes);
    text.remove_prefix(bytes == 0 ? 1 : bytes);
  }
  return shown;
}

std::string number_text(double value, int digits) {
  if (std::isnan(value)) return "nan";
  return digits > 0 ? fmt::format("{:.{}g}", value, digits) : fmt::format("{}", value);
}

}  // namespace mtfc
