#include "cmd/batch/time_limit.h"

#include <doctest/doctest.h>

namespace mtfc::time_limit_test {

TEST_CASE("time limits are read as sbatch reads them") {
  CHECK(seconds_of("1") == 60);
  CHECK(seconds_of("90") == 5400);
  CHECK(seconds_of("1:30") == 90);
  CHECK(seconds_of("01:02:03") == 3723);
  CHECK(seconds_of("12:00:00") == 43200);
  CHECK(seconds_of("2-12") == 216000);
  CHECK(seconds_of("1-0:30") == 88200);
  CHECK(seconds_of("1-00:00:05") == 86405);
}

TEST_CASE("times with units become those that sbatch takes") {
  CHECK(slurm_time("1h") == "01:00:00");
  CHECK(slurm_time("90m") == "01:30:00");
  CHECK(slurm_time("2h30m") == "02:30:00");
  CHECK(slurm_time("1d") == "1-00:00:00");
  CHECK(slurm_time("1d2h3m4s") == "1-02:03:04");
  CHECK(slurm_time("36h") == "1-12:00:00");
  for (const char* of_sbatch : {"90", "12:00:00", "2-12"}) CHECK(slurm_time(of_sbatch) == of_sbatch);
  for (const char* text : {"", "0h", "h", "2h30", "30m2h", "1h1h", "1.5h", "-1h", "2 h", "2H", "9999999999h"})
    CHECK_MESSAGE(!slurm_time(text), text);
}

TEST_CASE("other texts are no time limits") {
  for (const char* text : {"", "0", "0:00", "12h", "-5", "1-", "1-2-3", "1:2:3:4", "1::2", "1.5", " 5",
                           "UNLIMITED", "99999999999999999999"})
    CHECK_MESSAGE(!seconds_of(text), text);
}

}  // namespace mtfc::time_limit_test
