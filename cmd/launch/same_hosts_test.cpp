#include "cmd/launch/same_hosts.h"

#include <doctest/doctest.h>

namespace mtfc::same_hosts_test {
namespace {

TEST_CASE("the first host with another program is named") {
  CHECK(program_fault({{"a", 0, 7, "AVX2"}, {"b", 2, 7, "AVX2"}}) == "");
  CHECK(program_fault({{"a", 0, 7, "AVX2"}, {"b", 2, 7, "AVX2"}, {"c", 4, 8, "AVX2"}}) ==
        "host 'c' (rank 4) starts another mtfc than host 'a' (rank 0); install the same on all hosts");
}

TEST_CASE("hosts are told apart by the instructions that kernels use") {
  CHECK(instructions_text({{"a", 0, 7, "AVX2"}, {"b", 2, 7, "AVX2"}}) == "");
  CHECK(instructions_text({{"a", 0, 7, "AVX-512"}, {"b", 2, 7, "AVX2"}, {"c", 4, 7, "AVX2"}}) ==
        "AVX-512 on host 'a', AVX2 on host 'b' and another");
  CHECK(instructions_text(
            {{"a", 0, 7, "AVX2"}, {"b", 2, 7, "AVX2"}, {"c", 4, 7, "AVX2"}, {"d", 6, 7, "narrow vectors"}}) ==
        "AVX2 on host 'a' and 2 others, narrow vectors on host 'd'");
}

}  // namespace
}  // namespace mtfc::same_hosts_test
