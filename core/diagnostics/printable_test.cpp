#include "core/diagnostics/printable.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>

namespace mtfc::printable_test {

TEST_CASE("letters of every language stay as they are") {
  for (const char* text : {"", "w1/grad", "größe_β", "層", "\xF0\x9F\x98\x80", "a\\x1b", "\xC2\xA0"})
    CHECK(printable(text) == text);
}

TEST_CASE("characters that act on a terminal are escaped") {
  CHECK(printable("a\x1b[31mb\x7f\r\t\n") == "a\\x1b[31mb\\x7f\\x0d\\x09\\n");
  CHECK(printable(std::string_view("\0", 1)) == "\\x00");
  CHECK(printable("\xC2\x9B"
                  "2J\xC2\x85") == "\\u009b2J\\u0085");  // CSI and NEL, as single characters
}

TEST_CASE("characters that reverse the order of letters or end a line are escaped") {
  // U+061C, U+200E, U+200F, U+2028, U+2029, U+202A, U+202E, U+2066, U+2069
  CHECK(printable("\xD8\x9C|\xE2\x80\x8E\xE2\x80\x8F|\xE2\x80\xA8\xE2\x80\xA9|\xE2\x80\xAA\xE2\x80\xAE|"
                  "\xE2\x81\xA6\xE2\x81\xA9") ==
        "\\u061c|\\u200e\\u200f|\\u2028\\u2029|\\u202a\\u202e|\\u2066\\u2069");
}

TEST_CASE("bytes that are not UTF-8 are escaped one by one") {
  CHECK(printable("\x9b"
                  "a\xff") == "\\x9ba\\xff");
  CHECK(printable("\xC3") == "\\xc3");                    // cut off
  CHECK(printable("\xC0\x9B") == "\\xc0\\x9b");           // overlong ESC
  CHECK(printable("\xED\xA0\x80") == "\\xed\\xa0\\x80");  // a surrogate
  CHECK(printable("\xF4\x90\x80\x80") == "\\xf4\\x90\\x80\\x80");
}

TEST_CASE("a number in its digits or in fewer, and NaN without a sign") {
  CHECK(number_text(0.1) == "0.1");
  CHECK(number_text(-2) == "-2");
  CHECK(number_text(9.5367431640625e-07) == "9.5367431640625e-07");
  CHECK(number_text(2.0 / 3, 6) == "0.666667");
  CHECK(number_text(1, 6) == "1");
  CHECK(number_text(2621103.5, 6) == "2.6211e+06");
  const double nan = std::numeric_limits<double>::quiet_NaN(),
               infinity = std::numeric_limits<double>::infinity();
  for (const int digits : {0, 6}) {
    for (const double sign : {1.0, -1.0}) CHECK(number_text(std::copysign(nan, sign), digits) == "nan");
    CHECK(number_text(infinity, digits) == "inf");
    CHECK(number_text(-infinity, digits) == "-inf");
  }
}

}  // namespace mtfc::printable_test
