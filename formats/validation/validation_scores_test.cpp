#include "formats/validation/validation_scores.h"

#include <doctest/doctest.h>

#include "formats/validation/validation_writer.h"

namespace mtfc::validation_scores_test {
namespace {

RowResult result_of(const std::string& source, double measured, double predicted) {
  RowResult result;
  result.row.source = source;
  result.row.id = "row";
  result.row.group = "same work";
  result.row.devices = 8;
  result.row.seconds = measured;
  result.seconds = predicted;
  result.useful_s = 0.3 * measured;
  return result;
}

}  // namespace

TEST_CASE("errors are relative to what was measured") {
  const ErrorScore score = error_score({0.1, -0.3, 0.02, 0.5});
  CHECK(score.count == 4);
  CHECK(score.mean == doctest::Approx(0.23));
  CHECK(score.median == doctest::Approx(0.2));
  CHECK(score.largest == doctest::Approx(0.5));
  CHECK(score.bias == doctest::Approx(0.08));
  CHECK(score.within_tenth == doctest::Approx(0.5));
}

TEST_CASE("simulated and refused rows enter no total") {
  std::vector<RowResult> results = {result_of("a", 1, 1.1), result_of("a", 2, 1.8), result_of("b", 1, 5),
                                    result_of("c", 1, 0)};
  results[2].row.kind = RowKind::kSimulated;
  results[3].refused_for = "fp8";
  const ValidationScores scores = validation_scores(results, 1);
  REQUIRE(scores.sources.size() == 3);
  CHECK(scores.all.rows == 3);
  CHECK(scores.all.predicted == 2);
  CHECK(scores.all.refused.at("fp8") == 1);
  CHECK(scores.all.time.mean == doctest::Approx(0.1));
  CHECK(scores.sources[1].is_simulated);
  CHECK(scores.sources[1].time.mean == doctest::Approx(4));
  CHECK(scores.all.time_by_band[2].count == 2);  // 30 % of the peak rate
  REQUIRE(scores.worst.size() == 1);
  CHECK(scores.worst[0] == 1);  // 10 % too little is further off than 10 % too much
}

TEST_CASE("a pick is good if it takes at most 5 % longer than the fastest") {
  // By prediction the second is the fastest, and it took 20 % longer than the first.
  const PickScore bad =
      validation_scores({result_of("a", 1, 3), result_of("a", 1.2, 2), result_of("a", 4, 4)}, 0).all.picks;
  CHECK(bad.groups == 1);
  CHECK(bad.good == 0);
  CHECK(bad.worst == doctest::Approx(0.2));
  CHECK(bad.rank == doctest::Approx(2.0 / 3));
  const PickScore good = validation_scores({result_of("a", 1, 3), result_of("a", 1.04, 2)}, 0).all.picks;
  CHECK(good.good == 1);
}

TEST_CASE("the table of fits counts failed runs by whether they exceed the device") {
  std::vector<RowResult> results(4, result_of("a", 1, 1));
  for (RowResult& result : results) result.device_bytes = 100;
  results[0].most_bytes = 90;
  results[1].most_bytes = 110;
  results[2].most_bytes = 110;
  results[2].row.status = RowStatus::kOutOfMemory;
  results[3].most_bytes = 90;
  results[3].row.status = RowStatus::kFailed;
  results[0].row.memory_bytes = 100;
  results[0].bytes = 90;
  const SourceScore score = validation_scores(results, 0).all;
  CHECK(score.fit.ok_fits == 1);
  CHECK(score.fit.ok_exceeds == 1);
  CHECK(score.fit.oom_exceeds == 1);
  CHECK(score.fit.oom_fits == 1);
  CHECK(score.memory.count == 1);
  CHECK(score.memory.bias == doctest::Approx(-0.1));
}

TEST_CASE("bars are in percent of a figure of a source") {
  const ValidationScores scores =
      validation_scores({result_of("a", 1, 1.06), result_of("a", 1, 1.02), result_of("a", 1, 1.02)}, 0);
  const auto is_missed = [&](const char* text) {
    ErrorBar bar = parse_error_bar(text);
    measure(bar, scores);
    return bar.is_missed();
  };
  CHECK(!is_missed("a=4"));
  CHECK(is_missed("a=3"));
  CHECK(!is_missed("all.median=2.5"));
  CHECK(is_missed("a.memory=99"));  // nothing is known of it
  CHECK_THROWS_WITH_AS(is_missed("ab=4"), doctest::Contains("no row is of the source 'ab'"), UserError);
  CHECK_THROWS_WITH_AS(is_missed("a"), doctest::Contains("'a' is not of the form SOURCE=PERCENT"), UserError);
  CHECK_THROWS_AS(is_missed("a=x"), UserError);
}

TEST_CASE("the page has the points, the tables and what was refused") {
  std::vector<RowResult> results = {result_of("<a>", 1, 1.25), result_of("b", 1, 0)};
  results[0].parts_s = {{"products", 1.0}, {"bubble", 0.25}};
  results[1].refused_for = "fp8";
  ValidationReport report{results, validation_scores(results, 5)};
  report.command = "mtfc validate rows.csv";
  const std::string page = validation_html(report);
  for (const std::string part : {"[[1.0,1.25]]", "\"fp8\"", "products 80 %, bubble 20 %",
                                 "mean error of 25.0 %", "mtfc validate rows.csv -o page.html"}) {
    CAPTURE(part);
    CHECK(page.find(part) != std::string::npos);
  }
  CHECK(page.find("<a>") == std::string::npos);
}

}  // namespace mtfc::validation_scores_test
