#include "formats/text/quantity.h"

#include <doctest/doctest.h>

namespace mtfc::quantity_test {

TEST_CASE("the memory of a device is called as people call it") {
  CHECK(memory_text(80'000'000'000) == "80 GB");
  CHECK(memory_text(78'000'000'000) == "78 GB");
  CHECK(memory_text(4'500'000'000) == "4.5 GB");
  CHECK(memory_text(int64_t{16} << 30) == "16 GiB");
  CHECK(memory_text((int64_t{3} << 30) / 2) == "1.5 GiB");
  CHECK(memory_text(400'000) == "400 kB");
  CHECK(memory_text(64'000) == "64 kB");
  CHECK(memory_text(5 << 10) == "5 KiB");
  CHECK(memory_text(1) == "1 B");
  CHECK(memory_text(1024) == "1 KiB");
  CHECK(memory_text(33'543'786'496) == "31.2 GiB");  // as measured
}

TEST_CASE("bytes of an option are exact") {
  CHECK(bytes_argument(80'000'000'000) == "80GB");
  CHECK(bytes_argument(int64_t{20} << 20) == "20MiB");
  CHECK(bytes_argument((int64_t{3} << 30) / 2) == "1.5GiB");
  CHECK(bytes_argument(33'543'786'496) == "33543786496");
  for (const int64_t bytes :
       {int64_t{1}, int64_t{1000}, int64_t{400'000}, int64_t{699'999}, int64_t{31'070'000'000}}) {
    CAPTURE(bytes);
    CHECK(parse_bytes(bytes_argument(bytes)) == bytes);
  }
}

TEST_CASE("what is compared with a memory is in its units") {
  CHECK(bytes_beside(61'203'283'968, 80'000'000'000) == "61.2 GB");
  CHECK(bytes_beside(61'203'283'968, int64_t{64} << 30) == "57.0 GiB");
  CHECK(fit_text(61'203'283'968, 80'000'000'000) == "fits, 61.2 of 80 GB");
  CHECK(fit_text(92'300'000'000, 80'000'000'000) == "12.3 GB more than 80 GB");
  CHECK(fit_text(500, 80'000'000'000) == "fits, 500 B of 80 GB");
}

}  // namespace mtfc::quantity_test
