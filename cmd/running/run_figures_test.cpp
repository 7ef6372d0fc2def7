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

TEST_CASE("the efficiency of a run is not known where a step exceeds the peak rate") {
  const PeakTime measured{0.5, true}, given{0.5, false}, none{0, false};
  CHECK(mfu_text(measured, 2, 1) == "MFU 25 %");
  CHECK(mfu_text(measured, 0.25, 0.1) == "MFU not known (the peak rate was measured beside other work)");
  const std::string too_low =
      "MFU not known (the peak rate of the profile is lower than what this machine does)";
  CHECK(mfu_text(given, 2, 1) == "MFU 25 %");
  CHECK(mfu_text(given, 0.5, 0.5) == "MFU 100 %");
  CHECK(mfu_text({0.5, false, "h100"}, 2, 1) == "MFU 25 % of the peak rate of h100");
  CHECK(mfu_text(given, 0.25, 0.25) == too_low);
  CHECK(mfu_text(given, 2, 0.25) == too_low);  // a single step is proof
  CHECK(mfu_text(none, 2, 1) == "");
  MeanRunTime times;
  for (const double seconds : {3.0, 1.0, 2.0}) times.add({0, seconds});
  CHECK(times.shortest() == 1);
  CHECK(times.mean().total == 1.5);  // the first is left out
}

TEST_CASE("of two measurements of the peak rates, the higher one counts for each dtype") {
  Hardware first, second;
  first.flops = {{"f32", 3e9}, {"f64", 1e9}};
  second.flops = {{"f32", 2e9}, {"f64", 4e9}};
  const Hardware higher = higher_peaks(first, second);
  CHECK(higher.flops == std::map<std::string, double>{{"f32", 3e9}, {"f64", 4e9}});
}

}  // namespace mtfc::run_figures_test
