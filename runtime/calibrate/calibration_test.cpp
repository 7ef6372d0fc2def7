#include "runtime/calibrate/calibration.h"

#include <doctest/doctest.h>

namespace mtfc::calibration_test {

TEST_CASE("parts of a profile that predict badly are named with their errors") {
  CHECK(poor_fits_text({}) == "");
  CHECK(poor_fits_text({{"einsum", 9, 0.12, 0.4}, {"all_reduce over rows", 7, 0.4, 2.5}}) == "");
  CHECK(poor_fits_text(
            {{"einsum", 9, 0.63, 10.88}, {"movement", 5, 0.1, 0.2}, {"all_reduce over rows", 7, 0.3, 4}}) ==
        "einsum by 63 % on average and 1088 % at worst, all_reduce over rows by 30 % on average and 400 % at "
        "worst");
}

}  // namespace mtfc::calibration_test
