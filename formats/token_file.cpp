#include "formats/token_file.h"

#include <fmt/format.h>

#include "core/error.h"
#include "formats/mapped_file.h"

namespace mtfc {

StoredArray read_tokens(const std::string& path, StoredType type) {
  const auto file = MappedFile::open(path);
  const auto bytes = static_cast<int64_t>(file->bytes().size());
  const int64_t width = size_of(type);
  if (bytes == 0) throw RunError(fmt::format("{}: the file is empty", path));
  if (bytes % width != 0)
    throw RunError(fmt::format("{}: {} bytes are no whole number of tokens of {} bytes", path, bytes, width));
  return {path, type, false, {bytes / width}, file, file->bytes().data()};
}

}  // namespace mtfc
