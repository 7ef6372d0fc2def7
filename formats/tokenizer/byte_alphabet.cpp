#include "formats/tokenizer/byte_alphabet.h"

#include <array>

#include "formats/tokenizer/code_points.h"

namespace mtfc {
namespace {

struct ByteAlphabet {
  std::array<std::array<char, 2>, 256> utf8;
  std::array<uint8_t, 256> length;
  std::array<int16_t, 0x150> bytes;  // by character; -1: none
};

bool stands_for_itself(uint32_t byte) {
  return (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

const ByteAlphabet& byte_alphabet() {
  static const ByteAlphabet kAlphabet = [] {
    ByteAlphabet alphabet{};
    alphabet.bytes.fill(-1);
    uint32_t next = 0x100;
    for (uint32_t byte = 0; byte < 256; ++byte) {
      const uint32_t character = stands_for_itself(byte) ? byte : next++;
      const std::string utf8 = to_utf8(character);
      alphabet.length[byte] = static_cast<uint8_t>(utf8.size());
      for (size_t i = 0; i < utf8.size(); ++i) alphabet.utf8[byte][i] = utf8[i];
      alphabet.bytes[character] = static_cast<int16_t>(byte);
    }
    return alphabet;
  }();
  return kAlphabet;
}

}  // namespace

std::string bytes_as_characters(std::string_view bytes) {
  const ByteAlphabet& alphabet = byte_alphabet();
  std::string text(2 * bytes.size(), '\0');
  char* out = text.data();
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    out[0] = alphabet.utf8[byte][0];
    out[1] = alphabet.utf8[byte][1];  // The next character replaces it if this one has a single byte.
    out += alphabet.length[byte];
  }
  text.resize(static_cast<size_t>(out - text.data()));
  return text;
}

std::optional<char> byte_of_character(uint32_t character) {
  const ByteAlphabet& alphabet = byte_alphabet();
  if (character >= alphabet.bytes.size() || alphabet.bytes[character] < 0) return std::nullopt;
  return static_cast<char>(alphabet.bytes[character]);
}

}  // namespace mtfc
