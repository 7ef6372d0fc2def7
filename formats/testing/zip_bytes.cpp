#include "formats/testing/zip_bytes.h"

#include <zlib.h>

#include <cstdint>

namespace mtfc {
namespace {

std::string little(uint64_t number, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i, number >>= 8) text += static_cast<char>(number & 0xFF);
  return text;
}

}  // namespace

std::string deflated_bytes(const std::string& bytes, int window_bits) {
  std::string packed(compressBound(bytes.size()) + 64, '\0');
  z_stream stream = {};
  deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

std::string zip_bytes(const std::vector<std::pair<std::string, std::string>>& members, bool packed) {
  std::string file, directory;
  for (const auto& [name, bytes] : members) {
    const std::string data = packed ? deflated_bytes(bytes, -MAX_WBITS) : bytes;
    const uLong checksum =
        crc32(0, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uInt>(bytes.size()));
    const std::string facts = little(20, 2) + little(0, 2) + little(packed ? 8 : 0, 2) + little(0, 4) +
                              little(checksum, 4) + little(data.size(), 4) + little(bytes.size(), 4) +
                              little(name.size(), 2) + little(0, 2);
    directory += "PK\1\2" + little(20, 2) + facts + little(0, 10) + little(file.size(), 4) + name;
    file += "PK\3\4" + facts + name + data;
  }
  const std::string count = little(members.size(), 2);
  return file + directory + "PK\5\6" + little(0, 4) + count + count + little(directory.size(), 4) +
         little(file.size(), 4) + little(0, 2);
}

}  // namespace mtfc
