#include "core/diagnostics/suggest.h"

#include <doctest/doctest.h>

namespace mtfc::suggest_test {

TEST_CASE("slips of the finger are recognised") {
  CHECK(did_you_mean("hiden", {"batch", "hidden"}) == "did you mean 'hidden'?");
  CHECK(did_you_mean("btach", {"batch", "hidden"}) == "did you mean 'batch'?");
  CHECK(did_you_mean("hh", {"w", "h"}) == "did you mean 'h'?");
  CHECK(did_you_mean("LOSS", {"less", "loss"}) == "did you mean 'loss'?");
  CHECK(did_you_mean("X", {"y", "x"}) == "did you mean 'x'?");
}

TEST_CASE("other names are not suggested") {
  CHECK(did_you_mean("v", {"h", "w", "vw"}).empty());
  CHECK(did_you_mean("", {"h", "w"}).empty());
  CHECK(did_you_mean("depth", {"batch", "rows"}).empty());
  CHECK(did_you_mean("w", {"", "w"}).empty());
}

}  // namespace mtfc::suggest_test
