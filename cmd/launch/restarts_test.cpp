#include "cmd/launch/restarts.h"

#include <doctest/doctest.h>

#include "cmd/launch/execution.h"

namespace mtfc::restarts_test {
namespace {

TEST_CASE("the axis that loses the fewest devices is shortened") {
  const auto shape = [](std::vector<Axis> axes, int64_t ranks) {
    return to_string(shortened(Mesh(std::move(axes)), ranks));
  };
  CHECK(shape({{"all", 8}}, 5) == "all:5");
  CHECK(shape({{"rows", 4}, {"cols", 2}}, 4) == "rows:2,cols:2");
  CHECK(shape({{"rows", 4}, {"cols", 2}}, 7) == "rows:3,cols:2");
  CHECK(shape({{"rows", 2}, {"cols", 4}}, 7) == "rows:2,cols:3");
  CHECK(shape({{"rows", 2}, {"cols", 2}}, 1) == "");
  CHECK(shape({{"rows", 2}, {"cols", 2}}, 3) == "rows:1,cols:2");
}

TEST_CASE("options of the start are not passed on to ranks") {
  const std::vector<std::string> arguments = {"run",     "m.json", "--hosts",      "a,b",
                                              "--steps", "3",      "--restarts=2", "--hosts-file"};
  CHECK(without_options(arguments, {"--hosts", "--restarts"}) ==
        std::vector<std::string>{"run", "m.json", "--steps", "3", "--hosts-file"});
}

}  // namespace
}  // namespace mtfc::restarts_test
