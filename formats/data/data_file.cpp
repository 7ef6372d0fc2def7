#include "formats/data/data_file.h"

#include <fmt/format.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <limits>
#include <new>
#include <vector>

#include "core/diagnostics/error.h"
#include "formats/data/file_sample.h"
#include "formats/json/mapped_file.h"

namespace mtfc {
namespace {

// Deflate compresses by at most 1032 to 1, and the smallest stream has some bytes around its data.
constexpr uint64_t kMostExpansion = 1032;
constexpr size_t kFirstBuffer = size_t{1} << 16;
constexpr int kGzipOnly = MAX_WBITS + 16, kBare = -MAX_WBITS;

// The first bytes of gzip's format, RFC 1952: a magic number, the method, and flags, three of which are zero.
bool is_gzip(std::span<const std::byte> bytes) {
  return bytes.size() >= 4 && bytes[0] == std::byte{0x1F} && bytes[1] == std::byte{0x8B} &&
         bytes[2] == std::byte{8} && (bytes[3] & std::byte{0xE0}) == std::byte{0};
}

uint64_t memory_bytes() {
  const long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGE_SIZE);
  return pages > 0 && size > 0 ? static_cast<uint64_t>(pages) * static_cast<uint64_t>(size)
                               : std::numeric_limits<uint64_t>::max();
}

class Inflater {
 public:
  Inflater(std::span<const std::byte> packed, int format, const std::string& name)
      : packed_(packed), name_(name) {
    if (inflateInit2(&stream_, format) != Z_OK) throw std::bad_alloc();
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  /// Fills as much of the buffer as there is.
  size_t read(std::byte* to, size_t count) {
    size_t done = 0;
    while (done < count && !ended_) done += read_some(to + done, count - done);
    return done;
  }
  std::span<const std::byte> rest() const { return packed_.subspan(at_); }
  bool has_ended() const { return ended_; }

 private:
  size_t read_some(std::byte* to, size_t count) {
    constexpr size_t kMost = size_t{1} << 30;  // zlib counts in 32 bits
    const auto given = static_cast<uInt>(std::min(packed_.size() - at_, kMost)),
               room = static_cast<uInt>(std::min(count, kMost));
    stream_.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(packed_.data() + at_));
    stream_.avail_in = given;
    stream_.next_out = reinterpret_cast<Bytef*>(to);
    stream_.avail_out = room;
    const int code = inflate(&stream_, Z_NO_FLUSH);
    at_ += given - stream_.avail_in;
    const size_t got = room - stream_.avail_out;
    if (code == Z_STREAM_END)
      ended_ = true;
    else if (code == Z_BUF_ERROR || (code == Z_OK && at_ == packed_.size() && got < room))
      throw RunError(name_ + ": the gzip data is cut off");
    else if (code == Z_MEM_ERROR)
      throw std::bad_alloc();
    else if (code != Z_OK)
      throw RunError(
          fmt::format("{}: broken gzip data ({})", name_, stream_.msg ? stream_.msg : "a preset dictionary"));
    return got;
  }

  std::span<const std::byte> packed_;
  const std::string& name_;
  z_stream stream_ = {};
  size_t at_ = 0;
  bool ended_ = false;
};

// Adds what one stream of gzip holds, and returns what follows it.
std::span<const std::byte> unpack_stream(std::span<const std::byte> packed, const std::string& name,
                                         std::vector<std::byte>& unpacked) {
  Inflater inflater(packed, kGzipOnly, name);
  while (!inflater.has_ended()) {
    const size_t begin = unpacked.size(), more = std::max(kFirstBuffer, begin);
    require_memory(begin, name);
    unpacked.resize(begin + more);
    unpacked.resize(begin + inflater.read(unpacked.data() + begin, more));
  }
  return inflater.rest();
}

// gzip may append a file to another one; whatever else follows is not part of the data.
std::vector<std::byte> unpacked_gzip(std::span<const std::byte> packed, const std::string& name) {
  std::vector<std::byte> unpacked;
  try {
    do packed = unpack_stream(packed, name, unpacked);
    while (is_gzip(packed));
  } catch (const std::bad_alloc&) {
    throw RunError(name + ": there is too little memory to unpack it");
  }
  return unpacked;
}

}  // namespace

void require_memory(uint64_t bytes, const std::string& name) {
  if (bytes > memory_bytes() / 2)
    throw RunError(
        fmt::format("{}: it takes more than half of the memory to unpack it (store it uncompressed)", name));
}

void fail_at(const DataFile& file, int64_t line, const std::string& problem) {
  throw RunError(fmt::format("{}:{}: {}", file.name, line, problem));
}

DataFile open_data_file(const std::string& path) {
  const std::shared_ptr<const MappedFile> file = MappedFile::open(path);
  DataFile opened{path, file->bytes(), file, sample_of(path, file->bytes())};
  if (!is_gzip(file->bytes())) return opened;
  const auto unpacked = std::make_shared<const std::vector<std::byte>>(unpacked_gzip(file->bytes(), path));
  opened.bytes = *unpacked;
  opened.owner = unpacked;
  return opened;
}

std::shared_ptr<const std::byte[]> inflated(std::span<const std::byte> packed, uint64_t size,
                                            const std::string& name) {
  if (size / kMostExpansion > packed.size())
    throw RunError(fmt::format("{}: the archive promises {} bytes, more than its data can hold", name, size));
  require_memory(size, name);
  try {
    const std::shared_ptr<std::byte[]> bytes(new std::byte[size + 1]);
    Inflater inflater(packed, kBare, name);
    if (inflater.read(bytes.get(), size + 1) != size)
      throw RunError(fmt::format("{}: the archive promises {} bytes, but its data have others", name, size));
    return bytes;
  } catch (const std::bad_alloc&) {
    throw RunError(name + ": there is too little memory to unpack it");
  }
}

}  // namespace mtfc
