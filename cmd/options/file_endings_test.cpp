#include "cmd/options/file_endings.h"

#include <doctest/doctest.h>

#include "core/diagnostics/error.h"

namespace mtfc::file_endings_test {

const FileKinds kKinds{"-o", "a report", {{"json", "json"}, {"csv", "csv"}, {"txt", "table"}}};

TEST_CASE("the ending of a file's name gives its format") {
  CHECK(format_of_file(kKinds, "r.txt") == "table");
  CHECK(format_of_file(kKinds, "a.b/r.CSV") == "csv");
  for (const char* silent : {"-", "r", "a.b/r", "/dev/null", ".json", "run.17", "report.2024-11-22", "/tmp"})
    CHECK(format_of_file(kKinds, silent) == "");
}

TEST_CASE("an unknown ending is refused, and the known ones are named") {
  CHECK_THROWS_WITH_AS(
      format_of_file(kKinds, "r.pdf"),
      "error: -o: 'r.pdf' ends in .pdf, but a report is written as .json, .csv or .txt (name the "
      "file otherwise; a name without an ending is possible too)",
      UserError);
  CHECK_THROWS_WITH_AS(
      require_ending("--trace", "a timeline", "t.svg", {"json"}),
      "error: --trace: 't.svg' ends in .svg, but a timeline is written as .json (name the file "
      "otherwise; a name without an ending is possible too)",
      UserError);
}

TEST_CASE("a chosen format goes with any ending but that of another format") {
  CHECK(format_of_file(kKinds, "r.pdf", "json") == "");
  CHECK(format_of_file(kKinds, "r.json", "json") == "json");
  CHECK_THROWS_WITH_AS(
      format_of_file(kKinds, "r.csv", "json"),
      "error: -o: 'r.csv' ends in .csv, but the format is to be 'json' (leave out the format, or "
      "name the file otherwise)",
      UserError);
}

}  // namespace mtfc::file_endings_test
