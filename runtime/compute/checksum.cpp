#include "runtime/compute/checksum.h"

#include <atomic>

#include "core/diagnostics/error.h"
#include "core/tensors/random_bits.h"
#include "runtime/compute/parallel.h"
#include "runtime/compute/tile.h"
#include "runtime/compute/vector_targets.h"

namespace mtfc {
namespace {

// The step from one state of SplitMix64 to the next; mixed() makes the last one.
constexpr uint64_t kStep = 0x9e3779b97f4a7c15;

template <typename Bits>
struct Sum {
  [[gnu::always_inline]] static inline uint64_t add(const Bits* elements, int64_t count, uint64_t first) {
    uint64_t sum = 0;
    for (int64_t i = 0; i < count; ++i)
      sum += mixed(uint64_t{elements[i]} + (first + static_cast<uint64_t>(i)) * kStep);
    return sum;
  }
#if defined(__x86_64__)
  MTFC_AVX512 static uint64_t add_avx512(const Bits* elements, int64_t count, uint64_t first) {
    return add(elements, count, first);
  }
  MTFC_AVX2 static uint64_t add_avx2(const Bits* elements, int64_t count, uint64_t first) {
    return add(elements, count, first);
  }
#endif
  static uint64_t add_plain(const Bits* elements, int64_t count, uint64_t first) {
    return add(elements, count, first);
  }

  static auto for_this_machine() {
#if defined(__x86_64__)
    if (vector_level() == VectorLevel::kAvx512) return add_avx512;
    if (vector_level() == VectorLevel::kAvx2) return add_avx2;
#endif
    return add_plain;
  }
};

template <typename Bits>
uint64_t sum_of(const std::byte* data, int64_t count, int64_t first) {
  const auto* elements = reinterpret_cast<const Bits*>(data);
  const auto add = Sum<Bits>::for_this_machine();
  std::atomic<uint64_t> sum = 0;
  parallel_ranges(count, count, [&](int64_t begin, int64_t end) {
    sum += add(elements + begin, end - begin, static_cast<uint64_t>(first + begin));
  });
  return sum;
}

}  // namespace

uint64_t checksum(const std::byte* elements, int64_t element_bytes, int64_t count, int64_t first) {
  switch (element_bytes) {
    case 1:
      return sum_of<uint8_t>(elements, count, first);
    case 2:
      return sum_of<uint16_t>(elements, count, first);
    case 4:
      return sum_of<uint32_t>(elements, count, first);
    case 8:
      return sum_of<uint64_t>(elements, count, first);
  }
  throw InternalError("an element has 1, 2, 4 or 8 bytes");
}

}  // namespace mtfc
