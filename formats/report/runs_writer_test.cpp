#include "formats/report/runs_writer.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "formats/report/run_summary.h"

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

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
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

TEST_CASE("the page has a drawing for each metric, and needs nothing from elsewhere") {
  RunsReport report = report_of({"a<b>.jsonl"});
  report.measured = {read_run_report(kReport, "report.json")};
  const std::string html = runs_html(report);
  for (const char* part :
       {"<h3>loss over steps</h3>", "held-out data: 1.5 at step 2", "<h3>tokens_per_second over time</h3>",
        "<h3>mfu over time</h3>", "training: 1 of 4 steps have no finite number.", "Predicted and measured",
        "a&lt;b&gt;.jsonl: steps 1 to 4, 1.62 s from the start of the run", "<th scope=row>einsum</th>",
        "tabindex=0", "<dt>mesh</dt><dd>rows:2,cols:2</dd>",
        "<dt>layout</dt><dd>batch:rows,hidden:rows+cols</dd>",
        "<dt>command</dt><dd><code>mtfc run '&lt;m&gt;.json'</code></dd>", "<dt>host</dt><dd>node-7</dd>",
        "<dt>date</dt><dd>2026-01-31T23:59:59Z</dd>"})
    CHECK_MESSAGE(has(html, part), part);
  CHECK_FALSE(has(html, "<b>.jsonl"));
  CHECK_FALSE(has(html, "http"));
  CHECK_FALSE(has(html, "src="));
  // Without predicted times, nothing speaks of them.
  report.measured.front().predicted_seconds_per_step.reset();
  CHECK(has(runs_html(report), "Time by kind of step"));
  const std::string both = runs_html(report_of({"a.jsonl", "b.jsonl"}));
  CHECK(has(both, "b.jsonl: 4 at step 1, 2 at step 4"));
  CHECK(has(both, "<h3>loss over time</h3>"));
  CHECK(has(both, "a.jsonl, held-out data: 1.5 at step 2"));
  CHECK_FALSE(has(html, "Side by side"));
  CHECK(has(both,
            "<th scope=col>figure</th><th scope=col>a.jsonl</th><th scope=col>b.jsonl</th><th "
            "scope=col>change</th>"));
  CHECK(has(both,
            "<tr><th scope=row>loss, at last</th><td data-v=\"2\">2</td><td data-v=\"2\">2</td><td "
            "data-v=\"0\">+0.0 %</td></tr>"));
  RunsReport measured = report_of({"a.jsonl", "b.jsonl"});
  measured.measured = {read_run_report(kReport, "a.json"), read_run_report(kReport, "b.json")};
  CHECK(has(runs_html(measured),
            "<tr><th scope=row>layout</th><td class=\"word flow\">batch:rows,hidden:rows+cols</td>"
            "<td class=\"word flow\">batch:rows"));
}

TEST_CASE("a page begins with a sentence, and has figures before the facts") {
  RunsReport report = report_of({"a<b>.jsonl"});
  report.measured = {read_run_report(kReport, "report.json")};
  const std::string one = runs_html(report);
  CHECK(
      has(one,
          "<h1>m</h1><p class=verdict>The loss fell from 4 to 2 in 4 steps, 208 ms each; in 1 step it is no "
          "finite number; the validation loss was 1.5 at step 2.</p><p class=dim>a&lt;b&gt;.jsonl: steps"));
  CHECK(one.find("<dl class=\"figures large\">") < one.find("<dt>command</dt>"));
  RunsReport two = report_of({"a<b>.jsonl", "c.jsonl"});
  two.measured = {read_run_report(kReport, "a.json"), read_run_report(kReport, "b.json")};
  const std::string both = runs_html(two);
  CHECK(has(
      both,
      "<p class=verdict>a&lt;b&gt;.jsonl and c.jsonl end with the same loss, 2 after 4 steps each; a step "
      "of both takes 208 ms.</p>"));
  CHECK(both.find("<th scope=row>loss, at last</th>") < both.find("<th scope=row>command</th>"));
  CHECK(both.find("<details class=more><summary>Commands, layouts and hosts</summary>") <
        both.find("<th scope=row>command</th>"));
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
  const std::string page = runs_html(above);
  CHECK(has(page, "<p class=bad>" + note + ".</p>"));
  CHECK(has(page, "<dt>mfu, median</dt><dd>not known</dd>"));
  CHECK(has(runs_text(above), "\n\n" + note + "\n"));
  CHECK_FALSE(has(runs_html(below), "not known"));
  CHECK_FALSE(has(runs_text(below), "not known"));
  CHECK(has(
      runs_html({{log_of("a", 1.58), log_of("b", 1)}, {}}),
      "<tr><th scope=row>mfu, median</th><td>not known</td><td data-v=\"0.75\">75 %</td><td>-</td></tr>"));
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
  CHECK(size(20'000) < 120'000);
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
