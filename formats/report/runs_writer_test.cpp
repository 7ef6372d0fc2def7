#include "formats/report/runs_writer.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/testing/skip.h"
#include "core/testing/text.h"
#include "formats/report/run_summary.h"
#include "formats/testing/drawn_page.h"

namespace mtfc::runs_writer_test {
namespace {

const char* const kMetrics =
    "{\"step\":1,\"loss\":4,\"step_time\":0.5,\"tokens_per_second\":20000,\"mfu\":0.125,\"wall_time\":1}\n"
    "{\"step\":2,\"loss\":1,\"valid/loss\":1.5,\"step_time\":0.25,\"tokens_per_second\":40000,\"mfu\":0.25,"
    "\"wall_time\":1.25}\n"
    "{\"step\":3,\"loss\":null,\"step_time\":0.25,\"tokens_per_second\":40000,\"mfu\":0.25,\"wall_time\":1.5}"
    "\n"
    "{\"step\":4,\"loss\":2,\"step_time\":0.125,\"tokens_per_second\":80000,\"mfu\":0.5,\"wall_time\":1.625}"
    "\n";

const char* const kReport = R"({
  "predicted": {"model": "m", "entry": "train", "mesh": [["rows", 2], ["cols", 2]],
    "layout": {"batch": ["rows"], "hidden": ["rows", "cols"]}, "time": {"hardware": "box"}},
  "measured": {},
  "run": {"command": "mtfc run '<m>.json'", "host": "node-7", "date": "2026-01-31T23:59:59Z",
    "arena_bytes_per_device": 2048, "resident_bytes": 4096, "ranks": 4, "ranks_per_node": 4,
    "threads_per_rank": 1,
    "time": {"runs": 3, "seconds_per_step": 0.5, "steps_per_second": 2, "input_seconds": 0.0625,
      "predicted_seconds_per_step": 0.25,
      "by_kind": {
        "add": {"steps": 2, "predicted_seconds": 0.0625, "seconds": 0.03125, "seconds_max": 1},
        "einsum": {"steps": 3, "predicted_seconds": 0.125, "seconds": 0.25, "seconds_max": 1},
        "all_reduce": {"steps": 1, "predicted_seconds": 0, "seconds": 0.125, "seconds_max": 1, "start_seconds": 0.0625,
                       "wait_seconds": 0.0625}},
      "steps": []}}
})";

RunsReport report_of(std::initializer_list<const char*> files) {
  RunsReport report;
  std::vector<Diagnostic> warnings;
  for (const char* file : files) report.logs.push_back(read_metrics(kMetrics, file, warnings));
  return report;
}

nlohmann::json metric_of(const nlohmann::json& run, const std::string& name) {
  for (const nlohmann::json& metric : run["metrics"])
    if (metric["name"] == name) return metric;
  return {};
}

}  // namespace

TEST_CASE("the summary of a metric is over the steps that have a number") {
  const RunsReport report = report_of({"a.jsonl"});
  const MetricSummary loss = summary_of(report.logs[0], *report.logs[0].find("loss"));
  CHECK(loss.steps == 3);
  CHECK(loss.first == 4);
  CHECK(loss.last == 2);
  CHECK(loss.last_step == 4);
  CHECK(loss.least == 1);
  CHECK(loss.least_step == 2);
  CHECK(loss.most == 4);
  CHECK(loss.most_step == 1);
  CHECK(loss.mean == doctest::Approx(7.0 / 3));
  CHECK(loss.median == 2);
  CHECK(summary_of(report.logs[0], *report.logs[0].find("mfu")).median == 0.25);
  CHECK(summary_of(report.logs[0], *report.logs[0].find("tokens_per_second")).median == 40000);
}

TEST_CASE("the report in the terminal") {
  RunsReport report = report_of({"a.jsonl"});
  report.measured = {read_run_report(kReport, "report.json")};
  CHECK(runs_text(report) ==
        "a.jsonl: steps 1 to 4, 1.62 s from the start of the run\n"
        "\n"
        "                    first    last   least  at step    most  median\n"
        "loss                    4       2       1        2       4       2\n"
        "step_time          500 ms  125 ms  125 ms        4  500 ms  250 ms\n"
        "tokens_per_second  20,000  80,000  20,000        1  80,000  40,000\n"
        "mfu                12.5 %    50 %  12.5 %        1    50 %    25 %\n"
        "valid/loss            1.5     1.5     1.5        2     1.5     1.5\n"
        "\n"
        "m, train on rows:2,cols:2: 4 ranks, 1 thread each; mean over the ranks and 3 steps, predicted for "
        "box\n"
        "\n"
        "            steps  predicted  measured    share  measured/predicted\n"
        "einsum          3     125 ms    250 ms   50.0 %                2.00\n"
        "all_reduce      1        0 s    125 ms   25.0 %\n"
        "add             2    62.5 ms   31.2 ms    6.2 %                0.50\n"
        "inputs                         62.5 ms   12.5 %\n"
        "other                          31.2 ms    6.2 %\n"
        "a step                250 ms    500 ms  100.0 %                2.00\n");
}

TEST_CASE("the report as JSON") {
  RunsReport report = report_of({"a.jsonl", "b\n.jsonl"});
  report.measured = {read_run_report(kReport, "report.json")};
  const nlohmann::json json = nlohmann::json::parse(runs_json(report));
  REQUIRE(json["runs"].size() == 2);
  CHECK(json["runs"][1]["file"] == "b\n.jsonl");
  CHECK(json["runs"][0]["last_step"] == 4);
  CHECK(json["runs"][0]["seconds"] == 1.625);
  CHECK(json["runs"][0]["metrics"]["loss"]["least_step"] == 2);
  CHECK(json["runs"][0]["metrics"]["valid/loss"]["steps"] == 1);
  CHECK(json["time"]["by_kind"]["all_reduce"]["wait_seconds"] == 0.0625);
  CHECK(json["time"]["other_seconds"] == 0.03125);
  CHECK(json["time"]["hardware"] == "box");
}

TEST_CASE("the page has the points of each metric, what ran, and predicted beside measured times") {
  RunsReport report = report_of({"a<b>.jsonl"});
  report.measured = {read_run_report(kReport, "report.json")};
  const std::string page = runs_html(report);
  CHECK(has(page, "<noscript><pre>a&lt;b>.jsonl: steps 1 to 4, 1.62 s from the start of the run\n"));
  const nlohmann::json data = page_data(page);
  CHECK(data["title"] == "m");
  CHECK(data["verdict"] ==
        "The loss fell from 4 to 2 in 4 steps, 208 ms each; in 1 step it is no finite number; the validation "
        "loss was 1.5 at step 2.");
  const nlohmann::json run = data["runs"][0];
  CHECK(run["file"] == "a<b>.jsonl");
  CHECK(run["extent"] == "steps 1 to 4, 1.62 s from the start of the run");
  CHECK(run["lines"] == 4);
  CHECK(run["lastStep"] == "4");
  CHECK(run["elapsed"] == "1.62 s");
  const nlohmann::json loss = metric_of(run, "loss");
  CHECK(loss["output"] == "loss");
  CHECK(loss["count"] == 3);
  CHECK(loss["last"].dump() == "[2.0,\"2\"]");
  CHECK(loss["lastTime"] == "1.62 s");
  CHECK(loss["mostStep"].dump() == "[1,\"1\"]");
  CHECK(loss["points"].dump() ==
        R"([[1.0,1.0,"1.00 s",4.0,"4",4.0,4.0,false],[2.0,1.25,"1.25 s",1.0,"1",1.0,1.0,false],)"
        R"([4.0,1.625,"1.62 s",2.0,"2",2.0,2.0,true]])");
  const nlohmann::json held_out = metric_of(run, "valid/loss");
  CHECK(held_out["isHeldOut"] == true);
  CHECK(held_out["output"] == "loss");
  CHECK(held_out["points"][0][0] == 2);
  const nlohmann::json rate = metric_of(run, "tokens_per_second");
  CHECK(rate["output"] == "");
  CHECK(rate["isRate"] == true);
  CHECK(rate["median"].dump() == "[40000.0,\"40,000\"]");
  const nlohmann::json times = data["times"][0];
  CHECK(
      times["facts"].dump() ==
      R"([["model","m, train",false],["mesh","rows:2,cols:2",false],["layout","batch:rows,hidden:rows+cols",)"
      R"(false],["command","mtfc run '<m>.json'",true],["host","node-7",false],)"
      R"(["date","2026-01-31T23:59:59Z",false]])");
  CHECK(times["figures"].dump() ==
        R"([["ranks","4"],["threads per rank","1"],["memory planned per device","2.00 KiB"],)"
        R"(["memory of the largest process","4.00 KiB"]])");
  CHECK(times["about"] == "m, train on rows:2,cols:2. Mean over 3 steps");
  CHECK(times["hardware"] == "box");
  CHECK(times["rows"][0].dump() ==
        R"(["einsum",[3,"3"],[0.125,"125 ms"],[0.25,"250 ms"],[2.0,"2.00"],[50.0,"50.0 %"]])");
  CHECK(times["rows"][3].dump() ==
        R"(["inputs",[0,"0"],null,[0.0625,"62.5 ms"],[0.0,"0.00"],[12.5,"12.5 %"]])");
  CHECK(times["total"][3].dump() == "[0.5,\"500 ms\"]");
  // Without predicted times.
  report.measured.front().predicted_seconds_per_step.reset();
  CHECK(page_data(runs_html(report))["times"][0]["total"][2].is_null());
}

TEST_CASE("a page of two runs compares them") {
  RunsReport two = report_of({"a<b>.jsonl", "c.jsonl"});
  two.measured = {read_run_report(kReport, "a.json"), read_run_report(kReport, "b.json")};
  const nlohmann::json data = page_data(runs_html(two));
  CHECK(data["title"] == "2 runs");
  CHECK(data["verdict"] ==
        "a<b>.jsonl and c.jsonl end with the same loss, 2 after 4 steps each; a step of both takes 208 ms.");
  CHECK(data["runs"].size() == 2);
  CHECK(data["times"].size() == 2);
  CHECK(data["changes"]["loss"].dump() == "[0.0,\"+0.0 %\"]");
}

TEST_CASE("a change is in percent of what stands for the first run") {
  std::vector<Diagnostic> warnings;
  const auto changes_of = [&](const char* first, const char* second) {
    RunsReport two;
    two.logs = {read_metrics(first, "a", warnings), read_metrics(second, "b", warnings)};
    return page_data(runs_html(two))["changes"].dump();
  };
  // The last loss, and the median of a rate.
  const char* first = R"({"step":1,"loss":4,"tokens_per_second":10}
{"step":2,"loss":-2,"tokens_per_second":30}
{"step":3,"loss":-2,"tokens_per_second":20}
)";
  CHECK(changes_of(first, R"({"step":1,"loss":-3,"tokens_per_second":30})") ==
        R"({"loss":[-50.0,"-50.0 %"],"tokens_per_second":[50.0,"+50.0 %"]})");
  CHECK(changes_of(first, R"({"step":1,"accuracy":1,"tokens_per_second":null})") ==
        R"({"loss":null,"tokens_per_second":null})");
  CHECK(changes_of(R"({"step":1,"loss":0})", R"({"step":1,"loss":1})") == R"({"loss":null})");
}

TEST_CASE("a page of runs is drawn") {
  if (!has_script_engine()) return skip_without("node", "no page of runs is drawn");
  RunsReport report = report_of({"a<b>.jsonl"});
  report.measured = {read_run_report(kReport, "report.json")};
  const std::string one = drawn(runs_html(report));
  for (const char* part :
       {"<h3>loss over steps</h3>", "held-out data: 1.5 at step 2", "<h3>tokens_per_second over time</h3>",
        "<h3>mfu over time</h3>", "training: 1 of 4 steps have no finite number.", "Predicted and measured",
        "a&lt;b&gt;.jsonl: steps 1 to 4, 1.62 s from the start of the run", "<th scope=row>einsum</th>",
        "<dt>layout</dt><dd>batch:rows,hidden:rows+cols</dd>",
        "<dt>command</dt><dd><code>mtfc run '&lt;m&gt;.json'</code></dd>"})
    CHECK_MESSAGE(has(one, part), std::string(part));
  CHECK_FALSE(has(one, "Side by side"));
  RunsReport two = report_of({"a.jsonl", "b.jsonl"});
  two.measured = {read_run_report(kReport, "a.json"), read_run_report(kReport, "b.json")};
  const std::string both = drawn(runs_html(two));
  for (const char* part :
       {"b.jsonl: 4 at step 1, 2 at step 4; from 1 to 4", "<h3>loss over time</h3>",
        "b.jsonl: 4 after 1.00 s, 2 after 1.62 s; from 1 to 4", "a.jsonl, held-out data: 1.5 at step 2",
        "<tr><th scope=row>loss, at last</th><td data-v=\"2\">2</td><td data-v=\"2\">2</td><td "
        "data-v=\"0\">+0.0 %</td></tr>",
        "<tr><th scope=row>layout</th><td class=\"word flow\">batch:rows,hidden:rows+cols</td>"})
    CHECK_MESSAGE(has(both, part), std::string(part));
  for (const char* part : {"undefined", "NaN", "[object"}) {
    CHECK_FALSE(has(one, part));
    CHECK_FALSE(has(both, part));
  }
}

TEST_CASE("a long line keeps its means and its extremes") {
  std::string text;
  for (int i = 0; i < 100'000; ++i)
    text += fmt::format("{{\"step\":{},\"loss\":{}}}\n", i + 1, i == 54'321 ? 1000 : i % 2);
  std::vector<Diagnostic> warnings;
  const RunsReport report{{read_metrics(text, "a", warnings)}, {}};
  const nlohmann::json loss = metric_of(page_data(runs_html(report))["runs"][0], "loss"),
                       points = loss["points"];
  REQUIRE(points.size() == 500);
  size_t peaks = 0;
  for (size_t i = 0; i < 500; ++i) {
    CHECK(points[i][5] == 0);
    const bool is_peak = points[i][6] == 1000;
    peaks += is_peak ? 1 : 0;
    if (!is_peak) CHECK(points[i][6] == 1);
    CHECK(points[i][3].get<double>() == doctest::Approx(is_peak ? 0.5 + 999.0 / 200 : 0.5).epsilon(0.01));
    CHECK(points[i][7] == false);
    if (i > 0) CHECK(points[i][0].get<double>() > points[i - 1][0].get<double>());
  }
  CHECK(peaks == 1);
  CHECK(points[271][4] == "5.495 (0 to 1000)");
  CHECK(loss["firstStep"].dump() == "[1,\"1\"]");
  CHECK(loss["lastStep"].dump() == "[100000,\"100,000\"]");
}

TEST_CASE("an efficiency above 100 % is said to be not known, on the page and in the terminal") {
  std::vector<Diagnostic> warnings;
  const auto log_of = [&](const char* file, double most) {
    return read_metrics(
        fmt::format("{{\"step\":1,\"loss\":2,\"mfu\":0.5}}\n{{\"step\":2,\"loss\":1,\"mfu\":{}}}\n", most),
        file, warnings);
  };
  const std::string note =
      "MFU not known: it is above 100 % in 1 of 2 steps, so the peak rate of the profile is lower than what "
      "the machine does";
  const RunsReport above{{log_of("a", 1.58)}, {}}, below{{log_of("b", 1)}, {}};
  const nlohmann::json run = page_data(runs_html(above))["runs"][0];
  CHECK(run["note"] == note);
  CHECK(metric_of(run, "mfu")["shown"].is_null());
  CHECK(page_data(runs_html({{above.logs[0], below.logs[0]}, {}}))["changes"]["mfu"].is_null());
  CHECK(has(runs_text(above), "\n\n" + note + "\n"));
  CHECK(page_data(runs_html(below))["runs"][0]["note"] == "");
  CHECK(metric_of(page_data(runs_html(below))["runs"][0], "mfu")["shown"].dump() == "[0.75,\"75 %\"]");
  CHECK_FALSE(has(runs_text(below), "not known"));
}

TEST_CASE("the size of the page does not grow with the number of steps") {
  const auto size = [](int steps) {
    std::string text;
    for (int step = 1; step <= steps; ++step)
      text += fmt::format("{{\"step\":{},\"loss\":{},\"step_time\":0.01}}\n", step, 1000.0 / step + step % 7);
    std::vector<Diagnostic> warnings;
    RunsReport report;
    report.logs.push_back(read_metrics(text, "a", warnings));
    return runs_html(report).size();
  };
  CHECK(size(20'000) < size(2'000) * 11 / 10);
}

TEST_CASE("another file in the place of a report is an error that says what is wrong") {
  const auto error_of = [](const std::string& text) -> std::string {
    try {
      read_run_report(text, "r.json");
    } catch (const UserError& error) {
      return to_string(error.diagnostics().front());
    }
    return "";
  };
  const std::string problem = "r.json:1:1: error: the file is not what `mtfc run --report` writes: ";
  const std::string hint =
      " (`mtfc report METRICS.jsonl --report FILE` takes the file of `mtfc run --report FILE`)";
  CHECK(error_of("[1]") == problem + "/predicted is missing" + hint);
  CHECK(error_of("{\"model\": \"m\"}") == problem + "/predicted is missing" + hint);
  std::string other = kReport;
  other.replace(other.find("\"runs\": 3"), 9, "\"runs\": \"3\"");
  CHECK(error_of(other).find("/run/time/runs is a string instead of a number") != std::string::npos);
  CHECK(error_of("{").starts_with("r.json:1:"));
}

}  // namespace mtfc::runs_writer_test
