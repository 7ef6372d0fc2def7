#include "formats/data/file_sample.h"

#include <string_view>

#include "core/tensors/random_bits.h"

namespace mtfc {
namespace {

constexpr size_t kBlock = 4096;
constexpr size_t kBlocks = 66;  // with the first and the last

}  // namespace

FileSample sample_of(const std::string& path, std::span<const std::byte> bytes) {
  FileSample sample{path, static_cast<int64_t>(bytes.size()), 0};
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.size() <= kBlocks * kBlock) {
    sample.hash = hash_bytes(text);
    return sample;
  }
  const size_t last = text.size() - kBlock;
  for (size_t i = 0; i < kBlocks; ++i) {
    const size_t at = last / (kBlocks - 1) * i + last % (kBlocks - 1) * i / (kBlocks - 1);
    sample.hash = mixed(sample.hash ^ hash_bytes(text.substr(at, kBlock)));
  }
  return sample;
}

}  // namespace mtfc
