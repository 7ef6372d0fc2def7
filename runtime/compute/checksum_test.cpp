#include "runtime/compute/checksum.h"

#include <doctest/doctest.h>

#include <vector>

namespace mtfc::checksum_test {
namespace {

template <typename Bits>
uint64_t sum_of(const std::vector<Bits>& elements, int64_t first = 0) {
  return checksum(reinterpret_cast<const std::byte*>(elements.data()), sizeof(Bits),
                  static_cast<int64_t>(elements.size()), first);
}

template <typename Bits>
std::vector<Bits> some_bits(size_t count) {
  std::vector<Bits> bits;
  for (uint64_t i = 0, x = 1; i < count; ++i, x = x * 6364136223846793005 + 1442695040888963407)
    bits.push_back(static_cast<Bits>(x >> 33));
  return bits;
}

}  // namespace

TEST_CASE("an element adds a number of the published sequence of SplitMix64") {
  // https://rosettacode.org/wiki/Pseudo-random_numbers/Splitmix64: the first numbers of the seed 1234567.
  const uint64_t published[] = {6457827717110365317u, 3203168211198807973u, 9817491932198370423u,
                                4593380528125082431u, 16408922859458223821u};
  uint64_t sum = 0;
  for (size_t i = 0; i < 5; ++i) {
    CHECK(sum_of(std::vector<uint64_t>{1234567}, static_cast<int64_t>(i)) == published[i]);
    sum += published[i];
  }
  CHECK(sum_of(std::vector<uint64_t>(5, 1234567)) == sum);
  CHECK(sum_of(std::vector<uint32_t>(5, 1234567)) == sum);
  CHECK(sum_of(std::vector<uint32_t>{}) == 0);
}

TEST_CASE_TEMPLATE("parts add up, whatever their sizes, and every flipped bit and exchange shows", Bits,
                   uint8_t, uint16_t, uint32_t, uint64_t) {
  const std::vector<Bits> all = some_bits<Bits>(100'000);
  const uint64_t whole = sum_of(all);
  for (const size_t part : {1, 7, 64, 33'333}) {
    uint64_t sum = 0;
    for (size_t i = 0; i < all.size(); i += part)
      sum +=
          sum_of(std::vector<Bits>(all.begin() + static_cast<std::ptrdiff_t>(i),
                                   all.begin() + static_cast<std::ptrdiff_t>(std::min(i + part, all.size()))),
                 static_cast<int64_t>(i));
    CHECK(sum == whole);
  }
  std::vector<Bits> some(all.begin(), all.begin() + 40);
  const uint64_t before = sum_of(some);
  for (Bits& bits : some)
    for (size_t bit = 0; bit < 8 * sizeof(Bits); ++bit) {
      bits ^= static_cast<Bits>(Bits{1} << bit);
      CHECK(sum_of(some) != before);
      bits ^= static_cast<Bits>(Bits{1} << bit);
    }
  for (size_t i = 0; i + 1 < some.size(); ++i) {
    if (some[i] == some[i + 1]) continue;
    std::swap(some[i], some[i + 1]);
    CHECK(sum_of(some) != before);
    std::swap(some[i], some[i + 1]);
  }
}

}  // namespace mtfc::checksum_test
