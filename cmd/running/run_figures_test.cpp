// The efficiency of steps, and when it is not known.

#include "cmd/running/run_figures.h"

#include <doctest/doctest.h>

namespace mtfc::run_figures_test {

TEST_CASE("an efficiency above 100 % by a measured peak rate is not known, and by a given one it is") {
  const PeakTime measured{0.5, true}, given{0.5, false}, none{0, true};
  CHECK(efficiency(measured, 2) == 0.25);
  CHECK(efficiency(measured, 0.5) == 1);
  CHECK(efficiency(measured, 0.25) == std::nullopt);
  CHECK(efficiency(given, 0.25) == 2);
  CHECK(efficiency(none, 1) == std::nullopt);
  StepWorkload work{100, 0, measured};
  CHECK(figures_of(work, 2, std::nullopt, RunClock()).mfu == 0.25);
  CHECK(figures_of(work, 0.25, std::nullopt, RunClock()).mfu == std::nullopt);
  work.peak = given;
  CHECK(figures_of(work, 0.25, std::nullopt, RunClock()).mfu == 2);
}

TEST_CASE("of two measurements of the peak rates, the higher one counts for each dtype") {
  Hardware first, second;
  first.flops = {{"f32", 3e9}, {"f64", 1e9}};
  second.flops = {{"f32", 2e9}, {"f64", 4e9}};
  const Hardware higher = higher_peaks(first, second);
  CHECK(higher.flops == std::map<std::string, double>{{"f32", 3e9}, {"f64", 4e9}});
}

}  // namespace mtfc::run_figures_test
