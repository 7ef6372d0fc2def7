#include "core/error.h"

#include <doctest/doctest.h>

using namespace mtfc;

TEST_CASE("a diagnostic says where, what, and what to do") {
  CHECK(to_string(Diagnostic{{"m.json", 3, 7, "/ops/0"}, "wrong", "mend it"}) ==
        "m.json:3:7: error: /ops/0: wrong (mend it)");
  CHECK(to_string(Diagnostic{{}, "wrong", "", Severity::kWarning}) == "warning: wrong");
}

TEST_CASE("a diagnostic is one line of text, whatever a file holds") {
  CHECK(to_string(Diagnostic{{}, "no '\x1b[31ma\nb\x7f'", "\t"}) ==
        "error: no '\\x1b[31ma\\nb\\x7f' (\\x09)");
  CHECK(to_string(Diagnostic{{}, "a  b ", ""}) == "error: a  b ");
  const std::string word(121, 'x');
  CHECK(to_string(Diagnostic{{}, word.substr(1) + " " + word, ""}) ==
        "error: " + word.substr(1) + " " + word.substr(61) + "..." + word.substr(61));
  std::string wide;
  for (int i = 0; i < 70; ++i) wide += "é";
  CHECK(to_string(Diagnostic{{}, "-" + wide, ""}) ==
        "error: -" + wide.substr(0, 58) + "..." + wide.substr(0, 60));
}
