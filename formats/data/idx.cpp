#include "formats/data/idx.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/diagnostics/error.h"
#include "formats/data/data_file.h"

namespace mtfc {
namespace {

std::optional<StoredType> stored_type(std::byte code) {
  static constexpr std::pair<int, StoredType> kTypes[] = {{0x08, StoredType::kU8},  {0x09, StoredType::kI8},
                                                          {0x0B, StoredType::kI16}, {0x0C, StoredType::kI32},
                                                          {0x0D, StoredType::kF32}, {0x0E, StoredType::kF64}};
  for (const auto& [known, type] : kTypes)
    if (known == std::to_integer<int>(code)) return type;
  return std::nullopt;
}

// Reads the header, and moves `at` behind it.
StoredArray read_header(const DataFile& file, size_t& at) {
  const std::string& name = file.name;
  const std::span<const std::byte> bytes = file.bytes;
  if (bytes.size() < 4 || bytes[0] != std::byte{0} || bytes[1] != std::byte{0})
    throw RunError(name + ": not an IDX file");
  const std::optional<StoredType> type = stored_type(bytes[2]);
  if (!type)
    throw RunError(fmt::format("{}: IDX type {:#04x} is not known", name, std::to_integer<int>(bytes[2])));
  StoredArray array;
  array.file = name;
  array.type = *type;
  array.big_endian = size_of(*type) > 1;
  const auto dims = std::to_integer<size_t>(bytes[3]);
  for (at = 4; at < 4 + 4 * dims; at += 4) {
    if (bytes.size() < at + 4) throw RunError(name + ": the IDX header is cut off");
    int64_t value = 0;
    for (const std::byte byte : bytes.subspan(at, 4)) value = value << 8 | std::to_integer<int64_t>(byte);
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

}  // namespace

StoredArray read_idx(const std::string& path) {
  const DataFile file = open_data_file(path);
  if (file.bytes.empty()) throw RunError(path + ": the file is empty");
  size_t at = 0;
  StoredArray array = read_header(file, at);
  const size_t promised = promised_bytes(array), found = file.bytes.size() - at;
  if (promised != found)
    throw RunError(fmt::format("{}: the IDX header promises {} bytes of elements, but the file has {}", path,
                               promised, found));
  array.data = file.bytes.data() + at;
  array.owner = file.owner;
  array.sample = file.sample;
  return array;
}

}  // namespace mtfc
