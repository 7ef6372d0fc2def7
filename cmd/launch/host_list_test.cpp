#include "cmd/launch/host_list.h"

#include <doctest/doctest.h>

#include "core/diagnostics/error.h"

namespace mtfc::host_list_test {
namespace {

std::string placement(const std::string& hosts, int64_t ranks) {
  return to_string(placed(parse_hosts(hosts), ranks));
}

TEST_CASE("hosts without numbers get as many ranks each, as far as possible") {
  CHECK(placement("a,b", 4) == "a:2,b:2");
  CHECK(placement("a,b", 5) == "a:3,b:2");
  CHECK(placement("a,b,c", 2) == "a:1,b:1");
  CHECK(placement("node-1.cluster", 3) == "node-1.cluster:3");
}

TEST_CASE("hosts with numbers get at most so many ranks, in their order") {
  CHECK(placement("a:2,b:2", 4) == "a:2,b:2");
  CHECK(placement("a:4,b:4", 5) == "a:4,b:1");
  CHECK(placement("a:4,b:4", 4) == "a:4");
  CHECK(placement("a:3,b", 4) == "a:3,b:1");
  CHECK(room(parse_hosts("a:3,b")) == 4);
  CHECK(room(parse_hosts("a,b")) == -1);
  CHECK_THROWS_WITH_AS(placement("a:1,b:2", 4), doctest::Contains("--hosts has room for 3 ranks"), UserError);
}

TEST_CASE("a list that is none is refused") {
  const ValueCheck check = list_of_hosts();
  for (const char* right : {"a", "a,b", "a:1,b:16", "node-1.x.org:4"}) CHECK(check.problem(right) == "");
  for (const char* wrong : {"", "a,", "a,,b", "a:0", "a:x", "a:", ":2", "a b", "-a", "a:2:3", "a:9999999"})
    CHECK_MESSAGE(check.problem(wrong) != "", wrong);
  CHECK(check.problem("a:2,a:2") == "the host 'a' is named twice");
}

}  // namespace
}  // namespace mtfc::host_list_test
