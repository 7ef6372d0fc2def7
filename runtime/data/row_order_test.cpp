#include "runtime/data/row_order.h"

#include <doctest/doctest.h>

#include <set>
#include <vector>

namespace mtfc::row_order_test {
namespace {

std::vector<int64_t> epoch(uint64_t seed, int64_t windows, int64_t number) {
  std::vector<int64_t> order;
  for (int64_t i = 0; i < windows; ++i) order.push_back(window_at(seed, windows, number * windows + i));
  return order;
}

TEST_CASE("every epoch has each window once") {
  for (const int64_t windows : {1, 2, 3, 4, 5, 16, 17, 64, 97, 1000, 4097})
    for (const int64_t number : {0, 1, 100000}) {
      const std::vector<int64_t> order = epoch(7, windows, number);
      const std::set<int64_t> seen(order.begin(), order.end());
      CHECK(seen.size() == order.size());
      CHECK(*seen.begin() == 0);
      CHECK(*seen.rbegin() == windows - 1);
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

TEST_CASE("windows come from all over, however many there are") {
  const int64_t windows = (int64_t{1} << 40) + 1;
  double sum = 0;
  for (int64_t i = 0; i < 1000; ++i) {
    const int64_t row = window_at(7, windows, i);
    CHECK((row >= 0 && row < windows));
    sum += static_cast<double>(row) / static_cast<double>(windows);
  }
  CHECK(sum / 1000 == doctest::Approx(0.5).epsilon(0.1));
}

}  // namespace
}  // namespace mtfc::row_order_test
