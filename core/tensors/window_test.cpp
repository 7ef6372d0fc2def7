#include "core/tensors/window.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "core/tensors/division.h"
#include "core/tensors/sharding.h"

namespace mtfc {
namespace {

Window drawn(std::mt19937& random) {
  const auto draw = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  Window window{{"h", draw(1, 12)}, {"k", draw(1, 5)}, {"y", draw(1, 12)}, draw(1, 4), draw(-3, 4), 0,
                draw(1, 3),         draw(1, 3)};
  return with_high(window);
}

// True if place `o` and tap `k` of the window meet element `i`.
bool meets(const Window& window, int64_t o, int64_t k, int64_t i) {
  return window.stride * o + window.dilation * k - window.low == window.base * i;
}

}  // namespace

TEST_CASE("quotients are rounded down and up") {
  CHECK(floor_div(7, 2) == 3);
  CHECK(floor_div(-7, 2) == -4);
  CHECK(floor_div(-8, 2) == -4);
  CHECK(ceil_div(7, 2) == 4);
  CHECK(ceil_div(-7, 2) == -3);
  CHECK(ceil_div(-8, 2) == -4);
}

TEST_CASE("a window takes as many places as fit into the padded dimension") {
  // 7 taps, stride 2, padding 3 and 3 over 224 elements.
  Window window{{"h", 224}, {"k", 7}, {"y", 112}, 2, 3, 3};
  CHECK(window_places(window) == 112);
  window.high = 2;
  CHECK(window_places(window) == 112);
  window.high = 1;
  CHECK(window_places(window) == 111);
  CHECK(with_high(window).high == 2);
  CHECK(window_places({{"h", 2}, {"k", 5}, {"y", 1}}) <= 0);
  CHECK(to_string(Window{{"h", 224}, {"k", 7}, {"y", 112}, 2, 3, 3, 1, 2}) ==
        "h of 224, 7 taps, stride 2, padding 3 3, dilation 2");
}

TEST_CASE("the windows of the gradients meet the same elements, and the transposed one twice is the first") {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    const Window window = drawn(random), back = transposed(window), filter = of_taps(window);
    CAPTURE(to_string(window));
    CHECK(window_places(back) == window.dim.size);
    CHECK(window_places(filter) == window.taps.size);
    CHECK(transposed(back) == window);
    for (int64_t o = 0; o < window.to.size; ++o)
      for (int64_t k = 0; k < window.taps.size; ++k)
        for (int64_t i = 0; i < window.dim.size; ++i) {
          CHECK(meets(back, i, window.taps.size - 1 - k, o) == meets(window, o, k, i));
          CHECK(meets(filter, k, o, i) == meets(window, o, k, i));
        }
  }
}

TEST_CASE("a device holds the elements that its places read, and no window of another device reads") {
  std::mt19937 random(8);
  for (int round = 0; round < 500; ++round) {
    const Window window = drawn(random);
    CAPTURE(to_string(window));
    const WindowSplit split{0, window.to.size, window.stride, window.low, window.span(), window.base};
    const int64_t n = window.dim.size, parts = 1 + round % 9;
    int64_t largest = 0;
    for (int64_t part = 0; part < parts; ++part) {
      const Interval shard = shard_interval(window.to.size, parts, part), region = split.region(n, shard);
      int64_t first = n, last = -1;
      for (int64_t o = shard.begin; o < shard.end; ++o)
        for (int64_t i = 0; i < n; ++i) {
          // Gaps between taps are held as well.
          const int64_t at = window.base * i + window.low - window.stride * o;
          if (at < 0 || at >= window.span()) continue;
          first = std::min(first, i);
          last = std::max(last, i);
        }
      // A region may begin or end with elements that no place reads, if windows leave gaps or elements lie apart.
      if (last >= first) CHECK((region.begin <= first && region.end > last));
      if (window.stride <= window.span() && window.base == 1)
        CHECK(region.size() == (last < first ? 0 : last - first + 1));
      largest = std::max(largest, region.size());
    }
    CHECK(split.largest_region(n, parts) >= largest);
  }
}

TEST_CASE("the readers of some elements are the shards whose regions have some of them") {
  std::mt19937 random(9);
  for (int round = 0; round < 1000; ++round) {
    const Window window = drawn(random);
    CAPTURE(to_string(window));
    const WindowSplit split{0, window.to.size, window.stride, window.low, window.span(), window.base};
    const int64_t parts = 1 + round % 7;
    const Interval held = shard_interval(window.dim.size, 3, round % 3), readers = split.readers(held, parts);
    for (int64_t part = 0; part < parts; ++part) {
      const Interval region = split.region(window.dim.size, shard_interval(window.to.size, parts, part));
      const bool reads = std::min(region.end, held.end) > std::max(region.begin, held.begin);
      if (reads) CHECK((part >= readers.begin && part < readers.end));
    }
  }
}

TEST_CASE("an element is in the shard that holds it") {
  for (int64_t size = 1; size < 20; ++size)
    for (int64_t parts = 1; parts < 25; ++parts)
      for (int64_t at = 0; at < size; ++at) {
        const Interval shard = shard_interval(size, parts, shard_of(size, parts, at));
        CHECK((shard.begin <= at && at < shard.end));
      }
  CHECK(shard_of(int64_t{1} << 60, 4096, (int64_t{1} << 60) - 1) == 4095);
}

}  // namespace mtfc
