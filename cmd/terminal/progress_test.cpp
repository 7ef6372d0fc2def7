#include "cmd/terminal/progress.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

namespace mtfc::progress_test {

TEST_CASE("the progress line never loses the time left") {
  const ProgressParts parts{"step 120/300",
                            {"loss 2.91926", "bits_per_byte 4.21161", "accuracy 0.25"},
                            "291 steps/s",
                            "29100 samples/s",
                            "1:02 min left"};
  const std::string whole =
      "step 120/300  loss 2.91926  bits_per_byte 4.21161  accuracy 0.25  291 steps/s  29100 samples/s  1:02 "
      "min "
      "left";
  CHECK(progress_line(parts, std::string::npos) == whole);
  CHECK(progress_line(parts, whole.size()) == whole);
  CHECK(progress_line(parts, whole.size() - 1) ==
        "step 120/300  loss 2.91926  bits_per_byte 4.21161  accuracy 0.25  291 steps/s  1:02 min left");
  CHECK(progress_line(parts, 79) == "step 120/300  loss 2.91926  ..  291 steps/s  1:02 min left");
  CHECK(progress_line(parts, 59) == "step 120/300  loss 2.91926  ..  291 steps/s  1:02 min left");
  CHECK(progress_line(parts, 46) == "step 120/300  loss 2.91926  ..  1:02 min left");
  CHECK(progress_line(parts, 39) == "step 120/300  ..  1:02 min left");
  CHECK(progress_line(parts, 28) == "step 120/300  1:02 min left");
  CHECK(progress_line(parts, 20) == "1:02 min left");
  for (size_t width = 0; width < 120; ++width) {
    const std::string line = progress_line(parts, width);
    CHECK(line.size() <= width);
    if (width >= 13) CHECK(line.ends_with("1:02 min left"));
  }
}

TEST_CASE("a progress line may lack numbers, rows and, in the last step, a time left") {
  CHECK(progress_line({"step 3/3", {}, "5 steps/s", "", ""}, 80) == "step 3/3  5 steps/s");
  CHECK(progress_line({"step 3/3", {"loss 1"}, "5 steps/s", "", ""}, 10) == "step 3/3");
  CHECK(progress_line({"step 3/3", {}, "5 steps/s", "", ""}, 4) == "step");
}

TEST_CASE("of the rates, the steps per second stay longest") {
  const ProgressParts parts{"step 1/2", {"loss 1"},    "5 steps/s", "9 samples/s",
                            "1 s left", "99 tokens/s", "MFU 7 %"};
  CHECK(progress_line(parts, 80) ==
        "step 1/2  loss 1  5 steps/s  9 samples/s  99 tokens/s  MFU 7 %  1 s left");
  CHECK(progress_line(parts, 71) == "step 1/2  loss 1  5 steps/s  99 tokens/s  MFU 7 %  1 s left");
  CHECK(progress_line(parts, 58) == "step 1/2  loss 1  5 steps/s  MFU 7 %  1 s left");
  CHECK(progress_line(parts, 45) == "step 1/2  loss 1  5 steps/s  1 s left");
}

TEST_CASE("numbers as text, with printable names") {
  CHECK(to_text({{"loss", 0.25}, {"a\x1b", 3}}) == "loss 0.25  a\\x1b 3");
  CHECK(to_text({{"is_it", true}, {"was_it", false}}) == "is_it true  was_it false");
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(to_text({{"loss", std::copysign(nan, -1.0)}, {"l", std::copysign(nan, 1.0)}}) == "loss nan  l nan");
}

}  // namespace mtfc::progress_test
