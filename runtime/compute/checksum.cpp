#include "runtime/compute/checksum.h"

#include <atomic>

#include "core/diagnostics/error.h"
#include "core/tensors/random_bits.h"
#include "runtime/compute/parallel.h"
#include "runtime/compute/run_widest.h"

namespace mtfc {
namespace {

// The step from one state of SplitMix64 to the next; mixed() makes the last one.
constexpr uint64_t kStep = 0x9e3779b97f4a7c15;

template <typename Bits>
struct Sum {
  MTFC_INLINE uint64_t run(const Bits* elements, int64_t count, uint64_t first) {
    uint64_t sum = 0;
    for (int64_t i = 0; i < count; ++i)
      sum += mixed(uint64_t{elements[i]} + (first + static_cast<uint64_t>(i)) * kStep);
    return sum;
  }
};

template <typename Bits>
uint64_t sum_of(const std::byte* data, int64_t count, int64_t first) {
  const auto* elements = reinterpret_cast<const Bits*>(data);
  const auto add = widest_function<Sum<Bits>>();
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
