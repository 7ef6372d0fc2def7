#include "runtime/memory/bulk_copy.h"

#include <algorithm>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace mtfc {
namespace {

constexpr int64_t kBlock = 1 << 15;

#if defined(__x86_64__)
// Copies the bytes before the first and after the last whole cache line of the destination the ordinary way.
void copy_past_cache(const std::byte* from, std::byte* to, int64_t bytes) {
  const auto misaligned = reinterpret_cast<uintptr_t>(to) % 64;
  const int64_t head = std::min<int64_t>(misaligned == 0 ? 0 : static_cast<int64_t>(64 - misaligned), bytes);
  std::memcpy(to, from, static_cast<size_t>(head));
  int64_t at = head;
  for (; at + 64 <= bytes; at += 64) {
    const auto* source = reinterpret_cast<const __m128i*>(from + at);
    auto* target = reinterpret_cast<__m128i*>(to + at);
    const __m128i a = _mm_loadu_si128(source), b = _mm_loadu_si128(source + 1),
                  c = _mm_loadu_si128(source + 2), d = _mm_loadu_si128(source + 3);
    _mm_stream_si128(target, a);
    _mm_stream_si128(target + 1, b);
    _mm_stream_si128(target + 2, c);
    _mm_stream_si128(target + 3, d);
  }
  std::memcpy(to + at, from + at, static_cast<size_t>(bytes - at));
}
// Non-temporal stores are not ordered by the release of a counter.
void order_stores() {
  _mm_sfence();
}
#else
void copy_past_cache(const std::byte* from, std::byte* to, int64_t bytes) {
  std::memcpy(to, from, static_cast<size_t>(bytes));
}
void order_stores() {}
#endif

}  // namespace

void copy_to_all(const std::byte* from, std::span<std::byte* const> to, int64_t bytes) {
  if (bytes < kBulkBytes) {
    for (std::byte* target : to) std::memcpy(target, from, static_cast<size_t>(bytes));
    return;
  }
  for (int64_t at = 0; at < bytes; at += kBlock)
    for (std::byte* target : to) copy_past_cache(from + at, target + at, std::min(kBlock, bytes - at));
  order_stores();
}

}  // namespace mtfc
