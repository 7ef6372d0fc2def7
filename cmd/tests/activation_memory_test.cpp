// A layer keeps no more for its backward pass than the formulas of Korthikanti et al. 2022 allow. The script does the
// same for four shapes and more layers.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>

#include "cmd/testing/shell.h"
#include "core/testing/checkout.h"

namespace mtfc::activation_memory_test {

TEST_CASE("a layer keeps no more than the formulas allow, under five layouts") {
  // Checking every pass of every program that is tried would take twice the time.
  const std::string said = outcome_in_models(fmt::format(
      "env -u MTFC_VERIFY_PASSES python3 '{}/scripts/activation_memory.py' --program $MTFC --shapes "
      "22B --layers 2 --no-times",
      kSourceFolder));
  CAPTURE(said);
  CHECK(said.starts_with("exit 0: "));
  CHECK(said.find("| 22B | tensor parallel | 26.33 |") != std::string::npos);
  CHECK(said.find("| 22B | whole layers again | 2.00 |") != std::string::npos);
}

}  // namespace mtfc::activation_memory_test
