#include "formats/validation/published_rows.h"

#include <doctest/doctest.h>

#include "core/testing/scratch_folder.h"

namespace mtfc::published_rows_test {
namespace {

struct RowFiles : ScratchFolder {
  std::vector<PublishedRow> rows(const std::string& text) const {
    return read_published_rows(open_data_file(write("rows.csv", text)));
  }
  // The errors, from the line on.
  std::string complaint(const std::string& text) const {
    try {
      rows(text);
    } catch (const UserError& error) {
      std::string all;
      for (const Diagnostic& diagnostic : error.diagnostics()) {
        const std::string line = to_string(diagnostic);
        all += line.substr(line.find("rows.csv:") + 9) + "\n";
      }
      return all;
    }
    return "";
  }
};

}  // namespace

TEST_CASE("a row has the fields of its columns, and defaults for the others") {
  const RowFiles files;
  const std::vector<PublishedRow> rows = files.rows(
      "# who measured it, and when\n"
      "id,source,set,seconds,stages,status,sequence_parallel,memory_bytes,without_passes,workspace_bytes\n"
      "# a run that failed\n"
      "a,paper,layers=2  batch=8,,2,failed,yes,,recompute_cheap fuse,\n"
      "\"b, again\",paper,,1.5,7 9 0,,,8e9,,67108864\n");
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].set == std::vector<std::string>{"layers=2", "batch=8"});
  CHECK(rows[0].status == RowStatus::kFailed);
  CHECK(!rows[0].seconds);
  CHECK(rows[0].sequence_parallel);
  CHECK(rows[0].stage_count() == 2);
  CHECK(rows[0].without_passes == std::vector<std::string>{"recompute_cheap", "fuse"});
  CHECK(rows[0].workspace_bytes == 0);
  CHECK(rows[0].location.line == 4);
  CHECK(rows[1].id == "b, again");
  CHECK(rows[1].seconds == 1.5);
  CHECK(rows[1].memory_bytes == 8e9);
  CHECK(rows[1].stages == std::vector<int64_t>{7, 9, 0});
  CHECK(rows[1].stage_count() == 3);
  CHECK(rows[1].kind == RowKind::kMeasured);
  CHECK(rows[1].dtype == "f32");
  CHECK(rows[1].microbatches == 1);
  CHECK(rows[1].workspace_bytes == 67108864);
  CHECK(rows[1].location.line == 5);
}

TEST_CASE("errors of rows name the line and the column") {
  const RowFiles files;
  CHECK(files.complaint("id,devises\na,2\n") ==
        " error: rows have no column 'devises' (did you mean 'devices'?)\n");
  CHECK(files.complaint("id,devices,kind\na,-2,measured\nb,two,mesured\n") ==
        "2:0: error: column 'devices': expected a whole number from 1 to 1000000000, found '-2'\n"
        "3:0: error: column 'devices': expected a whole number from 1 to 1000000000, found 'two'\n"
        "3:0: error: column 'kind': expected one of measured, derived, simulated (did you mean 'measured'?), "
        "found "
        "'mesured'\n");
  CHECK(files.complaint("seconds\nnan\n") ==
        "2:0: error: column 'seconds': expected a number from 0 on, found 'nan'\n");
  CHECK(files.complaint("workspace_bytes\n1e6\n") ==
        "2:0: error: column 'workspace_bytes': expected a whole number from 0 to 1000000000000, found "
        "'1e6'\n");
  CHECK(files.complaint("set\nlayers\n") ==
        "2:0: error: column 'set': 'layers' is not of the form NAME=VALUE, found 'layers'\n");
  CHECK(
      files.complaint("without_passes\nfuse recompute_cheep\n") ==
      "2:0: error: column 'without_passes': 'recompute_cheep' is no pass that can be left out (did you mean "
      "'recompute_cheap'?), found 'fuse recompute_cheep'\n");
  CHECK(files.complaint("without_passes\npartition\n").find("'partition' is no pass") != std::string::npos);
  CHECK(files.complaint("stages\n0\n") == "2:0: error: column 'stages': expected a stage, found '0'\n");
  CHECK(files.complaint("stages\n4 -1\n").find("'-1' is no number of stages") != std::string::npos);
  CHECK(files.complaint("held_gradients\nbf\n") ==
        "2:0: error: column 'held_gradients': expected one of none, bf16, f32, found 'bf'\n");
  CHECK(files.complaint("id,id\na,b\n").find("there are several columns 'id'") != std::string::npos);
  CHECK(files.complaint("id,source\na\n").find("the line has 1 field, but the first line names 2") !=
        std::string::npos);
}

TEST_CASE("a filter finds rows by any column") {
  const RowFiles files;
  const std::vector<PublishedRow> rows = files.rows("id,split,devices\na,train,8\nb,test,16\n");
  CHECK(parse_row_filter("split=train", "--on").matches(rows[0]));
  CHECK(!parse_row_filter("split=train", "--on").matches(rows[1]));
  CHECK(parse_row_filter("devices=16", "--on").matches(rows[1]));
  CHECK(parse_row_filter("status=ok", "--on").matches(rows[1]));
  CHECK(parse_row_filter("split=t[a-e]*", "--on").matches(rows[1]));
  CHECK(!parse_row_filter("split=tr*", "--on").matches(rows[1]));
  CHECK_THROWS_WITH_AS(parse_row_filter("train", "--on"),
                       doctest::Contains("--on: 'train' is not of the form COLUMN=VALUE"), UserError);
  CHECK_THROWS_WITH_AS(parse_row_filter("splits=train", "--on"), doctest::Contains("did you mean 'split'?"),
                       UserError);
}

}  // namespace mtfc::published_rows_test
