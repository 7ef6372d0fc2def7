#include "formats/data/zip_archive.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <optional>

#include "core/diagnostics/error.h"

namespace mtfc {
namespace {

// Records of the format (APPNOTE.TXT): their signatures and the bytes of their fixed parts.
constexpr uint32_t kEnd = 0x06054b50, kWideEnd = 0x06064b50, kWideLocator = 0x07064b50, kEntry = 0x02014b50,
                   kLocal = 0x04034b50;
constexpr uint64_t kEndBytes = 22, kWideEndBytes = 56, kLocatorBytes = 20, kEntryBytes = 46, kLocalBytes = 30;
constexpr uint64_t kLongestComment = 0xFFFF;
constexpr uint64_t kWide16 = 0xFFFF, kWide32 = 0xFFFFFFFF;  // stand for numbers in a field with more bytes
constexpr uint16_t kWideField = 1, kStored = 0, kDeflated = 8, kEncrypted = 1;

[[noreturn]] void fail_zip(const std::string& file, const std::string& what) {
  throw RunError(fmt::format("{}: {}", file, what));
}

// Little-endian numbers of the archive; whatever lies outside of it is an error.
class ZipBytes {
 public:
  explicit ZipBytes(const DataFile& file) : bytes_(file.bytes), name_(file.name) {}

  uint64_t number(uint64_t at, uint64_t size) const {
    require(at, size);
    uint64_t value = 0;
    for (uint64_t i = size; i-- > 0;) value = value << 8 | std::to_integer<uint64_t>(bytes_[at + i]);
    return value;
  }
  uint16_t u16(uint64_t at) const { return static_cast<uint16_t>(number(at, 2)); }
  uint32_t u32(uint64_t at) const { return static_cast<uint32_t>(number(at, 4)); }
  uint64_t u64(uint64_t at) const { return number(at, 8); }
  std::span<const std::byte> part(uint64_t at, uint64_t size) const {
    require(at, size);
    return bytes_.subspan(at, size);
  }
  uint64_t size() const { return bytes_.size(); }

 private:
  void require(uint64_t at, uint64_t size) const {
    if (at > bytes_.size() || size > bytes_.size() - at)
      fail_zip(name_, "the zip archive is cut off or broken: a part of it lies beyond the end of the file");
  }
  std::span<const std::byte> bytes_;
  const std::string& name_;
};

struct ZipDirectory {
  uint64_t entries = 0, begin = 0;
};

// The record at the end of the archive, or nothing. A comment may follow it.
std::optional<uint64_t> end_record(const ZipBytes& bytes) {
  if (bytes.size() < kEndBytes) return std::nullopt;
  const uint64_t last = bytes.size() - kEndBytes, first = last - std::min(last, kLongestComment);
  for (uint64_t at = last + 1; at-- > first;)
    if (bytes.u32(at) == kEnd && at + kEndBytes + bytes.u16(at + 20) == bytes.size()) return at;
  return std::nullopt;
}

ZipDirectory find_directory(const ZipBytes& bytes, const std::string& file) {
  if (bytes.size() == 0) fail_zip(file, "the file is empty");
  const std::optional<uint64_t> end = end_record(bytes);
  if (!end) fail_zip(file, bytes.u16(0) == 0x4b50 ? "the zip archive is cut off" : "not a zip archive");
  ZipDirectory directory{bytes.u16(*end + 10), bytes.u32(*end + 16)};
  const bool is_wide = directory.entries == kWide16 || directory.begin == kWide32;
  if (!is_wide || *end < kLocatorBytes || bytes.u32(*end - kLocatorBytes) != kWideLocator) return directory;
  const uint64_t wide = bytes.u64(*end - kLocatorBytes + 8);
  bytes.part(wide, kWideEndBytes);
  if (bytes.u32(wide) != kWideEnd) fail_zip(file, "the zip archive is broken: its directory is not found");
  return {bytes.u64(wide + 32), bytes.u64(wide + 48)};
}

// Takes the numbers that have no room in the fixed part of an entry from the field for them.
void read_wide_field(const ZipBytes& bytes, uint64_t at, uint64_t end, ZipMember& member) {
  while (at + 4 <= end) {
    const uint64_t field_end = at + 4 + bytes.u16(at + 2);
    if (bytes.u16(at) == kWideField) {
      at += 4;
      for (uint64_t* number : {&member.size, &member.packed, &member.header})
        if (*number == kWide32 && at + 8 <= std::min(end, field_end)) *number = bytes.u64(at), at += 8;
      return;
    }
    at = field_end;
  }
}

}  // namespace

ZipArchive::ZipArchive(const std::string& path) : file_(open_data_file(path)) {
  read_directory();
}

void ZipArchive::read_directory() {
  const ZipBytes bytes(file_);
  const ZipDirectory directory = find_directory(bytes, file_.name);
  uint64_t at = directory.begin;
  for (uint64_t i = 0; i < directory.entries; ++i) {
    bytes.part(at, kEntryBytes);
    if (bytes.u32(at) != kEntry)
      fail_zip(file_.name, "the zip archive is broken: its directory is not found");
    const uint16_t flags = bytes.u16(at + 8), method = bytes.u16(at + 10);
    const uint64_t name = at + kEntryBytes, extra = name + bytes.u16(at + 28),
                   rest = extra + bytes.u16(at + 30);
    const std::span<const std::byte> text = bytes.part(name, extra - name);
    ZipMember member{{reinterpret_cast<const char*>(text.data()), text.size()},
                     method == kDeflated,
                     bytes.u32(at + 16),
                     bytes.u32(at + 20),
                     bytes.u32(at + 24),
                     bytes.u32(at + 42)};
    read_wide_field(bytes, extra, rest, member);
    if ((flags & kEncrypted) != 0 || (method != kStored && method != kDeflated))
      fail_zip(file_.name, fmt::format("the array '{}' is encrypted, or compressed in a way that is not read",
                                       member.name));
    members_.push_back(std::move(member));
    at = rest + bytes.u16(at + 32);
  }
}

DataFile ZipArchive::open(const ZipMember& member, const std::string& name) const {
  const ZipBytes bytes(file_);
  bytes.part(member.header, kLocalBytes);
  if (bytes.u32(member.header) != kLocal)
    fail_zip(name, "the zip archive is broken: no array begins where it should");
  const uint64_t begin =
      member.header + kLocalBytes + bytes.u16(member.header + 26) + bytes.u16(member.header + 28);
  const std::span<const std::byte> packed = bytes.part(begin, member.packed);
  if (!member.is_deflated) {
    if (member.packed != member.size) fail_zip(name, "the zip archive is broken: a size is wrong");
    return {name, packed, file_.owner, file_.sample};
  }
  const std::shared_ptr<const std::byte[]> data = inflated(packed, member.size, name);
  const std::span<const std::byte> unpacked(data.get(), member.size);
  uLong checksum = crc32(0, nullptr, 0);
  checksum = crc32_z(checksum, reinterpret_cast<const Bytef*>(unpacked.data()), unpacked.size());
  if (checksum != member.checksum) fail_zip(name, "the data are damaged: their checksum is wrong");
  return {name, unpacked, data, file_.sample};
}

}  // namespace mtfc
