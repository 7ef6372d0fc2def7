#include "formats/data/idx.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/diagnostics/error.h"
#include "formats/data/file_sample.h"
#include "formats/json/mapped_file.h"

namespace mtfc {
namespace {

// Deflate compresses by at most 1032 to 1.
constexpr size_t kMostExpansion = 1032;

std::optional<StoredType> stored_type(std::byte code) {
  static constexpr std::pair<int, StoredType> kTypes[] = {{0x08, StoredType::kU8},  {0x09, StoredType::kI8},
                                                          {0x0B, StoredType::kI16}, {0x0C, StoredType::kI32},
                                                          {0x0D, StoredType::kF32}, {0x0E, StoredType::kF64}};
  for (const auto& [known, type] : kTypes)
    if (known == std::to_integer<int>(code)) return type;
  return std::nullopt;
}

// Reads consecutive bytes of a file, plain or unpacked; fills as much of the buffer as there is.
using ByteSource = std::function<size_t(std::byte* to, size_t count)>;

StoredArray read_header(const ByteSource& read, const std::string& file) {
  std::byte magic[4];
  if (read(magic, 4) != 4 || magic[0] != std::byte{0} || magic[1] != std::byte{0})
    throw RunError(file + ": not an IDX file");
  const std::optional<StoredType> type = stored_type(magic[2]);
  if (!type)
    throw RunError(fmt::format("{}: IDX type {:#04x} is not known", file, std::to_integer<int>(magic[2])));
  StoredArray array;
  array.file = file;
  array.type = *type;
  array.big_endian = size_of(*type) > 1;
  for (int i = 0; i < std::to_integer<int>(magic[3]); ++i) {
    std::byte size[4];
    if (read(size, 4) != 4) throw RunError(file + ": the IDX header is cut off");
    int64_t value = 0;
    for (const std::byte byte : size) value = value << 8 | std::to_integer<int64_t>(byte);
    array.shape.push_back(value);
  }
  return array;
}

// The size of all elements in bytes.
size_t promised_bytes(const StoredArray& array) {
  if (std::find(array.shape.begin(), array.shape.end(), 0) != array.shape.end()) return 0;
  int64_t bytes = size_of(array.type);
  for (const int64_t size : array.shape)
    if (__builtin_mul_overflow(bytes, size, &bytes))
      throw RunError(array.file + ": the IDX header's sizes are impossibly large");
  return static_cast<size_t>(bytes);
}

[[noreturn]] void wrong_length(const std::string& file, size_t promised, const std::string& found) {
  throw RunError(fmt::format("{}: the IDX header promises {} bytes of elements, but the file has {}", file,
                             promised, found));
}

StoredArray read_plain(const std::shared_ptr<const MappedFile>& file, const std::string& path) {
  const std::span<const std::byte> bytes = file->bytes();
  size_t at = 0;
  StoredArray array = read_header(
      [&](std::byte* to, size_t count) {
        count = std::min(count, bytes.size() - at);
        std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), count, to);
        at += count;
        return count;
      },
      path);
  const size_t promised = promised_bytes(array), found = bytes.size() - at;
  if (promised != found) wrong_length(path, promised, std::to_string(found));
  array.data = bytes.data() + at;
  array.owner = file;
  return array;
}

class GzipReader {
 public:
  explicit GzipReader(const std::string& path) : path_(path), file_(gzopen(path.c_str(), "rb")) {
    if (!file_) throw RunError(path + ": can't be opened");
  }
  ~GzipReader() { gzclose(file_); }
  GzipReader(const GzipReader&) = delete;
  GzipReader& operator=(const GzipReader&) = delete;

  size_t read(std::byte* to, size_t count) {
    size_t done = 0;
    while (done < count) {
      constexpr size_t kMost = size_t{1} << 30;  // gzread counts in int
      const int got = gzread(file_, to + done, static_cast<unsigned>(std::min(count - done, kMost)));
      if (got < 0) fail();
      if (got == 0) {
        require_whole();
        break;
      }
      done += static_cast<size_t>(got);
    }
    return done;
  }
  /// Reads on to the end of the file, where zlib verifies its checksum.
  void expect_end(size_t promised) {
    std::byte more;
    if (read(&more, 1) != 0) wrong_length(path_, promised, "more");
    int code = Z_OK;
    gzerror(file_, &code);
    if (code != Z_OK && code != Z_STREAM_END) fail();
  }

 private:
  // At the end of a truncated file zlib still expects more data.
  void require_whole() {
    int code = Z_OK;
    gzerror(file_, &code);
    if (code == Z_BUF_ERROR) fail();
  }
  [[noreturn]] void fail() {
    int code = Z_OK;
    const char* message = gzerror(file_, &code);
    // zlib's own message repeats the file's name.
    if (code == Z_BUF_ERROR) throw RunError(path_ + ": the gzip data is cut off");
    std::string_view reason = message;
    if (reason.starts_with(path_ + ": ")) reason.remove_prefix(path_.size() + 2);
    throw RunError(fmt::format("{}: broken gzip data ({})", path_, reason));
  }
  std::string path_;
  gzFile file_;
};

StoredArray read_compressed(const MappedFile& file, const std::string& path) {
  GzipReader gzip(path);
  StoredArray array = read_header([&](std::byte* to, size_t count) { return gzip.read(to, count); }, path);
  const size_t promised = promised_bytes(array), most = file.bytes().size() * kMostExpansion;
  if (promised > most) wrong_length(path, promised, fmt::format("{} at most", most));
  const auto data = std::make_shared<std::vector<std::byte>>(promised);
  const size_t found = gzip.read(data->data(), promised);
  if (found != promised) wrong_length(path, promised, std::to_string(found));
  gzip.expect_end(promised);
  array.data = data->data();
  array.owner = data;
  return array;
}

}  // namespace

StoredArray read_idx(const std::string& path) {
  const std::shared_ptr<const MappedFile> file = MappedFile::open(path);
  const std::span<const std::byte> bytes = file->bytes();
  if (bytes.empty()) throw RunError(path + ": the file is empty");
  const bool compressed = bytes.size() >= 2 && bytes[0] == std::byte{0x1F} && bytes[1] == std::byte{0x8B};
  StoredArray array = compressed ? read_compressed(*file, path) : read_plain(file, path);
  array.sample = sample_of(path, bytes);
  return array;
}

}  // namespace mtfc
