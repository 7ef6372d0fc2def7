#pragma once
// The alphabet of byte-level tokenizers: a printable character for each byte. Printable characters of Latin-1 stand
// for their own byte. The rest of the bytes, in their order, are U+0100 and the characters that follow: a blank is Ġ.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mtfc {

/// The characters of all bytes of a text.
std::string bytes_as_characters(std::string_view bytes);
/// The byte that a character stands for.
std::optional<char> byte_of_character(uint32_t character);

}  // namespace mtfc
