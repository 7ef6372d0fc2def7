#include "formats/data/token_file.h"

#include <fmt/format.h>

#include "core/diagnostics/error.h"
#include "formats/data/file_sample.h"
#include "formats/json/mapped_file.h"

namespace mtfc {
namespace {

// The first bytes of gzip's format, RFC 1952: a magic number, the method, and flags, three of which are zero.
bool is_gzip(std::span<const std::byte> bytes) {
  return bytes.size() >= 4 && bytes[0] == std::byte{0x1F} && bytes[1] == std::byte{0x8B} &&
         bytes[2] == std::byte{8} && (bytes[3] & std::byte{0xE0}) == std::byte{0};
}

}  // namespace

StoredArray read_tokens(const std::string& path, StoredType type) {
  const auto file = MappedFile::open(path);
  const auto bytes = static_cast<int64_t>(file->bytes().size());
  if (is_gzip(file->bytes()))
    throw RunError(
        fmt::format("{}: the file is compressed, but a token file must not be (gunzip it first)", path));
  const int64_t width = size_of(type);
  if (bytes == 0) throw RunError(fmt::format("{}: the file is empty", path));
  if (bytes % width != 0)
    throw RunError(
        fmt::format("{}: {} bytes are not a whole number of tokens of {} bytes", path, bytes, width));
  return {path, type, false, {bytes / width}, file, file->bytes().data(), sample_of(path, file->bytes())};
}

}  // namespace mtfc
