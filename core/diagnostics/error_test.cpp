#include "core/diagnostics/error.h"

#include <doctest/doctest.h>

namespace mtfc::error_test {

TEST_CASE("a diagnostic says where, what, and what to do") {
  CHECK(to_string(Diagnostic{{"m.json", 3, 7, "/ops/0"}, "wrong", "mend it"}) ==
        "m.json:3:7: error: /ops/0: wrong (mend it)");
  CHECK(to_string(Diagnostic{{}, "wrong", "", Severity::kWarning}) == "warning: wrong");
}

TEST_CASE("a diagnostic is one line of text, whatever a file holds") {
  CHECK(to_string(Diagnostic{{}, "no '\x1b[31ma\nb\x7f'", "\t"}) ==
        "error: no '\\x1b[31ma\\nb\\x7f' (\\x09)");
  CHECK(to_string(Diagnostic{{"in\x1b[2Jclude.json", 1, 1, "/a\xC2\x9B"}, "\xE2\x80\xAE", ""}) ==
        "in\\x1b[2Jclude.json:1:1: error: /a\\u009b: \\u202e");
  CHECK(to_string(Diagnostic{{}, "a  b ", ""}) == "error: a  b ");
  const std::string word(121, 'x');
  CHECK(to_string(Diagnostic{{}, word.substr(1) + " " + word, ""}) ==
        "error: " + word.substr(1) + " " + word.substr(61) + "..." + word.substr(61));
  CHECK(std::string(RunError("f.npy: '\n\x1b'").what()) == "f.npy: '\\n\\x1b'");
  std::string many;
  for (int i = 0; i < 200; ++i) many += "d" + std::to_string(i) + "=2 ";
  const std::string shown = to_string(Diagnostic{{}, many + "is too large", ""});
  CHECK(shown.size() < 600);
  CHECK(shown.starts_with("error: d0=2 d1=2 "));
  CHECK(shown.ends_with(" d199=2 is too large"));
  std::string wide;
  for (int i = 0; i < 70; ++i) wide += "é";
  CHECK(to_string(Diagnostic{{}, "-" + wide, ""}) ==
        "error: -" + wide.substr(0, 58) + "..." + wide.substr(0, 60));
}

}  // namespace mtfc::error_test
