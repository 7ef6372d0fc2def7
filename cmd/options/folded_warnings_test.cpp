#include "cmd/options/folded_warnings.h"

#include <doctest/doctest.h>

namespace mtfc::folded_warnings_test {

TEST_CASE("warnings that differ in the numbers of layers are one") {
  const std::vector<Diagnostic> folded = folded_warnings(
      {plain_warning("'layer_0/y' is slow, as 'layer_0/x' is"), plain_warning("'y' is slow", "see 'x'"),
       plain_warning("'layer_1/y' is slow, as 'layer_1/x' is"),
       plain_warning("'layer_2/y' is slow, as 'layer_2/x' is"),
       plain_note("'layer_3/y' is slow, as 'layer_3/x' is")});
  REQUIRE(folded.size() == 3);
  CHECK(folded[0].message == "'layer_{0..2}/y' is slow, as 'layer_{0..2}/x' is (3 warnings)");
  CHECK(folded[1].message == "'y' is slow");
  CHECK(folded[1].hint == "see 'x'");
  CHECK(folded[2].message == "'layer_3/y' is slow, as 'layer_3/x' is");
}

TEST_CASE("errors are not folded, and neither are warnings with other hints or of other files") {
  const Diagnostic error{{}, "'layer_0/y' is unknown", ""}, other{{}, "'layer_1/y' is unknown", ""};
  const Diagnostic hinted = plain_warning("'layer_1/y' is slow", "split it");
  Diagnostic placed = plain_warning("'layer_2/y' is slow");
  placed.location.file = "model.json";
  CHECK(folded_warnings({error, other, plain_warning("'layer_0/y' is slow"), hinted, placed}).size() == 5);
}

}  // namespace mtfc::folded_warnings_test
