#include "core/program/repeated_names.h"

#include <doctest/doctest.h>

#include "core/diagnostics/error.h"

namespace mtfc::repeated_names_test {

TEST_CASE("the numbers of repetitions are left out of names") {
  CHECK(unnumbered("layers_12/ffn/inner") == "layers_*/ffn/inner");
  CHECK(unnumbered("encoder/layers_0/self/norm/y.0.0") == "encoder/layers_*/self/norm/y.0.0");
  CHECK(unnumbered("outer_1/inner_2/q") == "outer_*/inner_*/q");
  for (const char* name : {"", "w1", "_1", "12", "x_y", "x_1y", "a/b", "/", "a//b_"})
    CHECK(unnumbered(name) == name);
}

TEST_CASE("the number of a repetition") {
  CHECK(repetition("layers_12/ffn/inner") == "12");
  CHECK(repetition("outer_1/inner_02/q") == "1/02");
  CHECK(repetition("w1").empty());
}

TEST_CASE("names that differ in the numbers of repetitions are folded into one") {
  std::vector<std::string> layers;
  for (int i = 11; i >= 0; --i) layers.push_back("layers_" + std::to_string(i) + "/ffn/inner");
  CHECK(folded(layers) == "layers_{0..11}/ffn/inner");
  CHECK(folded({"x_7", "x_0", "x_6", "x_2", "x_5"}) == "x_{0,2,5..7}");
  CHECK(folded({"x_9", "x_10"}) == "x_{9,10}");
  CHECK(folded({"x_9", "x_11", "x_10"}) == "x_{9..11}");
  CHECK(folded({"x_1", "x_1", "x_2"}) == "x_{1,2}");
  CHECK(folded({"layers_3/x_1@rows/cols_2"}) == "layers_3/x_1@rows/cols_2");
  for (const char* name : {"", "w1", "a/b", "x_*"}) {
    CHECK(folded({name}) == name);
    CHECK(folded({name, name}) == name);
  }
  CHECK(folded({}).empty());
}

TEST_CASE("several numbers are folded apart if every combination is there") {
  CHECK(folded({"o_0/i_0", "o_0/i_1", "o_1/i_0", "o_1/i_1", "o_2/i_0", "o_2/i_1"}) == "o_{0..2}/i_{0,1}");
  CHECK(folded({"o_0/i_0", "o_1/i_1"}) == "o_*/i_*");
  CHECK(folded({"o_0/i_0", "o_0/i_1", "o_1/i_0"}) == "o_*/i_*");
  CHECK(folded({"o_4/i_0", "o_4/i_1", "o_4/i_5"}) == "o_4/i_{0,1,5}");
  CHECK(folded({"a_4/o_0/i_0", "a_4/o_1/i_1"}) == "a_4/o_*/i_*");
}

TEST_CASE("numbers that are too long or have leading zeros are listed") {
  CHECK(folded({"x_1", "x_02", "x_3", "x_002"}) == "x_{1,3,02,002}");
  CHECK(folded({"x_99999999999999999998", "x_99999999999999999999", "x_100000000000000000000"}) ==
        "x_{99999999999999999998,99999999999999999999,100000000000000000000}");
  CHECK(folded({"x_08", "x_09", "x_10"}) == "x_{08,09,10}");
}

TEST_CASE("only names of one form are folded") {
  CHECK_THROWS_AS(folded({"x_1", "y_1"}), InternalError);
  CHECK_THROWS_AS(folded({"x_1", "x"}), InternalError);
  CHECK_THROWS_AS(folded({"x_1", "x_1/y"}), InternalError);
  CHECK_THROWS_AS(folded({"x_*", "x_1"}), InternalError);
}

}  // namespace mtfc::repeated_names_test
