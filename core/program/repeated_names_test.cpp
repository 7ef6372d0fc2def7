#include "core/program/repeated_names.h"

#include <doctest/doctest.h>

namespace mtfc::repeated_names_test {

TEST_CASE("the numbers of repetitions are left out of names") {
  CHECK(unnumbered("layers_12/ffn/inner") == "layers_*/ffn/inner");
  CHECK(unnumbered("encoder/layers_0/self/norm/y.0.0") == "encoder/layers_*/self/norm/y.0.0");
  CHECK(unnumbered("outer_1/inner_2/q") == "outer_*/inner_*/q");
  for (const char* name : {"", "w1", "_1", "12", "x_y", "x_1y", "a/b"}) CHECK(unnumbered(name) == name);
}

}  // namespace mtfc::repeated_names_test
