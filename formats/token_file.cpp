#include "formats/token_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <span>

#include "core/error.h"
#include "formats/mapped_file.h"

namespace mtfc {
namespace {

// Whether the file begins as gzip's do. No UTF-8 text does. Token ids may, so of those the name must say it
// too.
bool is_packed(const MappedFile& file) {
  constexpr std::byte kMagic[] = {std::byte{0x1f}, std::byte{0x8b}, std::byte{8}};  // 8: deflate
  const std::span<const std::byte> bytes = file.bytes();
  return bytes.size() > std::size(kMagic) && std::equal(std::begin(kMagic), std::end(kMagic), bytes.begin());
}

}  // namespace

StoredArray read_tokens(const std::string& path, StoredType type) {
  const auto file = MappedFile::open(path);
  const auto bytes = static_cast<int64_t>(file->bytes().size());
  if (is_gzip(file->bytes()))
    throw RunError(
        fmt::format("{}: the file is compressed, and tokens are read as they stand: gunzip it first", path));
  const int64_t width = size_of(type);
  if (is_packed(*file) && (type == StoredType::kU8 || path.ends_with(".gz")))
    throw RunError(
        path +
        ": the file is compressed by gzip, and tokens are read from plain files; unpack it with gunzip");
  if (bytes == 0) throw RunError(fmt::format("{}: the file is empty", path));
  if (bytes % width != 0)
    throw RunError(fmt::format("{}: {} bytes are no whole number of tokens of {} bytes", path, bytes, width));
  return {path, type, false, {bytes / width}, file, file->bytes().data()};
}

}  // namespace mtfc
