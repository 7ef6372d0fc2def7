#include "formats/data/token_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "core/diagnostics/error.h"
#include "formats/data/data_file.h"

namespace mtfc {
namespace {

bool is_array(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return text.starts_with("\x93NUMPY");
}

uint32_t token_at(const std::byte* bytes, size_t index) {
  return std::to_integer<uint32_t>(bytes[2 * index]) | std::to_integer<uint32_t>(bytes[2 * index + 1]) << 8;
}

}  // namespace

bool looks_four_bytes_wide(const StoredArray& tokens) {
  if (tokens.parts) return !tokens.parts->empty() && looks_four_bytes_wide(tokens.parts->front().array);
  constexpr size_t kLeast = 32, kMost = 1 << 16;  // tokens that are looked at
  constexpr uint32_t kHighHalf = 16;              // vocabularies have fewer than a million tokens
  const auto count = static_cast<size_t>(tokens.shape[0]);
  if (tokens.type != StoredType::kU16 || count % 2 != 0 || count < kLeast) return false;
  uint32_t even = 0, odd = 0;  // the largest tokens at even and odd positions
  for (size_t i = 0; i < std::min(count, kMost); ++i) {
    uint32_t& largest = i % 2 == 0 ? even : odd;
    largest = std::max(largest, token_at(tokens.data, i));
  }
  return odd == 0 ? even > 0 : odd < kHighHalf && even >= 256;
}

StoredArray read_tokens(const std::string& path, StoredType type) {
  const DataFile file = open_data_file(path);
  const auto bytes = static_cast<int64_t>(file.bytes.size());
  if (is_array(file.bytes))
    throw RunError(fmt::format(
        "{0}: the file is an array of NumPy, whose header would be read as tokens (NumPy's tofile() "
        "writes bare tokens; without a prefix, {0} gives its rows to the input)",
        path));
  const int64_t width = size_of(type);
  if (bytes == 0) throw RunError(fmt::format("{}: the file is empty", path));
  if (bytes % width != 0)
    throw RunError(
        fmt::format("{}: {} bytes are not a whole number of tokens of {} bytes", path, bytes, width));
  return {path, type, false, {bytes / width}, file.owner, file.bytes.data(), file.sample};
}

}  // namespace mtfc
