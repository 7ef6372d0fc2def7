#include "core/tensors/residues.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

namespace mtfc::residues_test {
namespace {

class Draft {
 public:
  int64_t below(int64_t limit) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(limit)); }

  // `count` dimensions with so many elements in all.
  Dims shape(int64_t elements, int64_t count) {
    Dims dims(static_cast<size_t>(count), Dim{"", 1});
    for (int64_t factor = 2; elements > 1; ++factor) {
      if (factor * factor > elements) factor = elements;
      for (; elements % factor == 0; elements /= factor)
        dims[static_cast<size_t>(below(count))].size *= factor;
    }
    return dims;
  }

  // One shard of the shape, where `splits` axes of random sizes split it.
  Box shard(const Dims& dims, int splits) {
    Box box = whole_box(dims);
    for (int i = 0; i < splits; ++i) {
      Interval& interval = box[static_cast<size_t>(below(static_cast<int64_t>(dims.size())))];
      const int64_t parts = 2 + below(7);
      const Interval part = shard_interval(interval.size(), parts, below(parts));
      interval = {interval.begin + part.begin, interval.begin + part.end};
    }
    return box;
  }

  ResidueList residues(const Dims& dims, int splits) {
    return residues_of(dims, shard(dims, splits), 0, dims.size());
  }

 private:
  std::mt19937_64 random_{1};
};

bool is_in(const ResidueList& residues, int64_t index) {
  return std::all_of(residues.begin(), residues.end(), [&](const Residues& one) {
    return index % one.period >= one.held.begin && index % one.period < one.held.end;
  });
}

TEST_CASE("a region of a shape is intervals of remainders") {
  const Dims dims = {{"a", 8}, {"b", 10}};
  const ResidueList region = residues_of(dims, {{2, 5}, {3, 6}}, 0, 2);
  REQUIRE(region.size() == 2);
  CHECK(region[0].period == 80);
  CHECK(region[0].held == Interval{20, 50});
  CHECK(region[1].period == 10);
  CHECK(region[1].held == Interval{3, 6});
  CHECK(residues_of(dims, {{0, 8}, {0, 10}}, 0, 2).empty());
}

TEST_CASE("the indices that two regions share are counted as one by one") {
  Draft draft;
  for (int round = 0; round < 3000; ++round) {
    const int64_t elements = 1 + draft.below(600);
    const ResidueList first = draft.residues(draft.shape(elements, 1 + draft.below(4)), round % 4),
                      second = draft.residues(draft.shape(elements, 1 + draft.below(4)), round % 3);
    const int64_t begin = draft.below(elements);
    for (const Interval range :
         {Interval{0, elements}, Interval{begin, begin + draft.below(elements - begin + 1)}}) {
      int64_t expected = 0;
      for (int64_t i = range.begin; i < range.end; ++i) expected += is_in(first, i) && is_in(second, i);
      REQUIRE(count_common(range, first, second) == expected);
    }
  }
}

TEST_CASE("the regions of a division share all elements of any region, up to the largest tensors") {
  Draft draft;
  for (const int64_t limit : {int64_t{1} << 30, int64_t{1} << 60})
    for (int round = 0; round < 300; ++round) {
      int64_t elements = 1;
      for (int64_t factor = 2; elements <= limit / factor; factor = 2 + draft.below(3000)) elements *= factor;
      const Dims dims = draft.shape(elements, 2), others = draft.shape(elements, 2);
      const Box box = draft.shard(dims, 2);
      const ResidueList region = residues_of(dims, box, 0, 2);
      int64_t together = 0;
      for (int64_t row = 0; row < 2; ++row)
        for (int64_t column = 0; column < 3; ++column)
          together += count_common(
              {0, elements}, region,
              residues_of(others,
                          {shard_interval(others[0].size, 2, row), shard_interval(others[1].size, 3, column)},
                          0, 2));
      REQUIRE(together == mtfc::elements(box));
    }
}

TEST_CASE("two dimensions on either side, whatever their sizes, are counted in a few ranges") {
  Draft draft;
  for (int round = 0; round < 3000; ++round) {
    const int64_t elements = 1000000000 - draft.below(1000000);
    const ResidueList first = draft.residues(draft.shape(elements, 2), 2),
                      second = draft.residues(draft.shape(elements, 2), 2);
    const int64_t before = ranges_counted();
    count_common({0, elements}, first, second);
    REQUIRE(ranges_counted() - before <= 30);
  }
}

}  // namespace
}  // namespace mtfc::residues_test
