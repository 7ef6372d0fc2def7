#include "formats/testing/png_bytes.h"

#include <zlib.h>

namespace mtfc {
namespace {

std::string big_endian(uint64_t number) {
  std::string text;
  for (const int shift : {24, 16, 8, 0}) text += static_cast<char>(number >> shift & 0xFF);
  return text;
}

std::string chunk_of(const std::string& data) {
  const uLong checksum =
      crc32(0, reinterpret_cast<const Bytef*>(data.data()), static_cast<uInt>(data.size()));
  return big_endian(data.size() - 4) + data + big_endian(checksum);
}

}  // namespace

std::string png_bytes(uint32_t width, uint32_t height, int colours, const std::string& pixels) {
  std::string lines;
  const size_t line = height == 0 ? 0 : pixels.size() / height;
  for (uint32_t y = 0; y < height; ++y) lines += std::string(1, '\0') + pixels.substr(y * line, line);
  std::string packed(compressBound(lines.size()), '\0');
  uLongf size = packed.size();
  compress(reinterpret_cast<Bytef*>(packed.data()), &size, reinterpret_cast<const Bytef*>(lines.data()),
           lines.size());
  packed.resize(size);
  const std::string form = {8, static_cast<char>(colours), 0, 0, 0};
  return "\x89PNG\r\n\x1a\n" + chunk_of("IHDR" + big_endian(width) + big_endian(height) + form) +
         chunk_of("IDAT" + packed) + chunk_of("IEND");
}

}  // namespace mtfc
