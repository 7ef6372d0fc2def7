#include "formats/data/file_sample.h"

#include <doctest/doctest.h>

#include <vector>

namespace mtfc::file_sample_test {
namespace {

FileSample sample(const std::vector<std::byte>& bytes) {
  return sample_of("x", bytes);
}

}  // namespace

TEST_CASE("a short file is hashed as a whole") {
  std::vector<std::byte> bytes(66 * 4096);
  const FileSample before = sample(bytes);
  CHECK(before.path == "x");
  CHECK(before.bytes == 66 * 4096);
  for (size_t i = 0; i < bytes.size(); i += 4095) {
    bytes[i] = std::byte{1};
    CHECK(sample(bytes).hash != before.hash);
    bytes[i] = std::byte{0};
  }
  CHECK(sample(bytes).hash == before.hash);
  CHECK(sample({}).bytes == 0);
}

TEST_CASE("of a long file, the beginning, the end and blocks in between are hashed") {
  std::vector<std::byte> bytes(10'000'001);
  const uint64_t before = sample(bytes).hash;
  const auto shows = [&](size_t at) {
    bytes[at] = std::byte{1};
    const bool differs = sample(bytes).hash != before;
    bytes[at] = std::byte{0};
    return differs;
  };
  for (const size_t at : {size_t{0}, size_t{4095}, bytes.size() - 4096, bytes.size() - 1}) CHECK(shows(at));
  int seen = 0;
  for (size_t at = 0; at < bytes.size(); at += 4096) seen += shows(at);
  CHECK(seen >= 64);
  CHECK(seen <= 68);
  // A change of some length is always seen.
  std::vector<std::byte> other = bytes;
  for (size_t at = 3'000'000; at < 3'160'000; ++at) other[at] = std::byte{1};
  CHECK(sample(other).hash != before);
}

}  // namespace mtfc::file_sample_test
