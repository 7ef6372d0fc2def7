#include "runtime/row_order.h"

#include <doctest/doctest.h>

#include <set>
#include <vector>

namespace mtfc {
namespace {

std::vector<int64_t> epoch(uint64_t seed, int64_t rows, int64_t number) {
  std::vector<int64_t> order;
  for (int64_t i = 0; i < rows; ++i) order.push_back(RowOrder(seed).at(rows, number * rows + i));
  return order;
}

TEST_CASE("every epoch has each row once") {
  for (const int64_t rows : {1, 2, 3, 4, 5, 16, 17, 64, 97, 1000, 4097})
    for (const int64_t number : {0, 1, 100000}) {
      const std::vector<int64_t> order = epoch(7, rows, number);
      const std::set<int64_t> seen(order.begin(), order.end());
      CHECK(seen.size() == order.size());
      CHECK(*seen.begin() == 0);
      CHECK(*seen.rbegin() == rows - 1);
    }
}

TEST_CASE("epochs and seeds differ in their order") {
  CHECK(epoch(7, 97, 0) == epoch(7, 97, 0));
  CHECK(epoch(7, 97, 0) != epoch(7, 97, 1));
  CHECK(epoch(7, 97, 0) != epoch(8, 97, 0));
  std::set<std::vector<int64_t>> orders;
  for (int64_t number = 0; number < 1000; ++number) orders.insert(epoch(7, 4, number));
  CHECK(orders.size() == 24);
}

TEST_CASE("rows come from all over, at any number of rows") {
  const int64_t rows = (int64_t{1} << 40) + 1;
  double sum = 0;
  for (int64_t i = 0; i < 1000; ++i) {
    const int64_t row = RowOrder(7).at(rows, i);
    CHECK((row >= 0 && row < rows));
    sum += static_cast<double>(row) / static_cast<double>(rows);
  }
  CHECK(sum / 1000 == doctest::Approx(0.5).epsilon(0.1));
}

}  // namespace
}  // namespace mtfc
