#include <fmt/format.h>

#include <algorithm>

#include "core/diagnostics/printable.h"
#include "formats/json/ordered_json.h"
#include "formats/report/run_summary.h"
#include "formats/report/runs_verdict.h"
#include "formats/report/runs_writer.h"
#include "formats/text/quantity.h"
#include "formats/text/wrapped_text.h"

namespace mtfc {
namespace {

using TextRow = std::vector<std::string>;

std::string metrics_table(const MetricsLog& log) {
  std::vector<TextRow> rows = {{"", "first", "last", "least", "at step", "most", "median"}};
  for (const MetricSummary& metric : summaries_of(log)) {
    const std::string name = printable(metric.name);
    if (metric.steps == 0) {
      rows.push_back({name, "-", "-", "-", "-", "-", "-"});
      continue;
    }
    const auto text = [&](double number) { return metric_text(metric.name, number); };
    rows.push_back({name, text(metric.first), text(metric.last), text(metric.least),
                    grouped(metric.least_step), text(metric.most), text(metric.median)});
  }
  const std::string note = mfu_note(log);
  return fmt::format("{}: {}\n\n{}{}", printable(log.file), extent_text(log), columns(rows, 1, ""),
                     note.empty() ? "" : "\n" + note + "\n");
}

std::string times_text(const ReportedRun& run) {
  const bool has_predicted = run.predicted_seconds_per_step.has_value();
  std::vector<TextRow> rows = {{"", "steps", "measured", "share"}};
  if (has_predicted) rows[0].insert(rows[0].begin() + 2, "predicted");
  if (has_predicted) rows[0].emplace_back("measured/predicted");
  const auto add = [&](const std::string& name, const std::string& steps, double seconds,
                       std::optional<double> predicted) {
    TextRow row = {
        name, steps, seconds_text(seconds),
        fmt::format("{:.1f} %", run.seconds_per_step > 0 ? 100 * seconds / run.seconds_per_step : 0)};
    if (has_predicted) {
      row.insert(row.begin() + 2, predicted ? seconds_text(*predicted) : "");
      row.push_back(predicted && *predicted > 0 ? fmt::format("{:.2f}", seconds / *predicted) : "");
    }
    rows.push_back(std::move(row));
  };
  for (const TimedKind& kind : run.kinds)
    add(printable(kind.kind), grouped(kind.steps), kind.seconds, kind.predicted);
  add("inputs", "", run.input_seconds, std::nullopt);
  add("other", "", other_seconds(run), std::nullopt);
  add("a step", "", run.seconds_per_step, run.predicted_seconds_per_step);
  return fmt::format("{}, {} on {}: {} {}, {} {} each; mean {}{} {}{}\n\n{}", printable(run.model),
                     printable(run.entry), printable(run.mesh), run.ranks, run.ranks == 1 ? "rank" : "ranks",
                     run.threads, run.threads == 1 ? "thread" : "threads",
                     run.ranks == 1 ? "of " : "over the ranks and ", grouped(run.runs),
                     run.runs == 1 ? "step" : "steps",
                     has_predicted ? ", predicted for " + printable(run.hardware) : "", columns(rows, 1, ""));
}

Json metric_json(const MetricSummary& metric) {
  if (metric.steps == 0) return {{"steps", 0}};
  return {{"steps", metric.steps},
          {"first", metric.first},
          {"last", metric.last},
          {"least", metric.least},
          {"least_step", metric.least_step},
          {"most", metric.most},
          {"most_step", metric.most_step},
          {"mean", metric.mean},
          {"median", metric.median}};
}

Json log_json(const MetricsLog& log) {
  Json json = {{"file", log.file},
               {"lines", static_cast<int64_t>(log.steps.size())},
               {"first_step", log.steps.front()},
               {"last_step", log.steps.back()}};
  if (const std::vector<double> elapsed = elapsed_seconds(log); !elapsed.empty())
    json["seconds"] = elapsed.back();
  json["metrics"] = Json::object();
  for (const MetricSummary& metric : summaries_of(log)) json["metrics"][metric.name] = metric_json(metric);
  return json;
}

Json reported_json(const ReportedRun& run) {
  Json json = {{"model", run.model},
               {"entry", run.entry},
               {"mesh", run.mesh},
               {"ranks", run.ranks},
               {"threads_per_rank", run.threads},
               {"runs", run.runs}};
  if (!run.hardware.empty()) json["hardware"] = run.hardware;
  if (run.predicted_seconds_per_step) json["predicted_seconds_per_step"] = *run.predicted_seconds_per_step;
  json["seconds_per_step"] = run.seconds_per_step;
  json["input_seconds"] = run.input_seconds;
  json["other_seconds"] = other_seconds(run);
  json["by_kind"] = Json::object();
  for (const TimedKind& kind : run.kinds) {
    Json times = {{"steps", kind.steps}};
    if (kind.predicted) times["predicted_seconds"] = *kind.predicted;
    times["seconds"] = kind.seconds;
    if (kind.waiting) times["wait_seconds"] = *kind.waiting;
    json["by_kind"][kind.kind] = std::move(times);
  }
  return json;
}

}  // namespace

std::string runs_text(const RunsReport& report) {
  std::string text;
  for (const MetricsLog& log : report.logs) text += (text.empty() ? "" : "\n") + metrics_table(log);
  for (size_t i = 0; i < report.measured.size(); ++i) {
    const std::string of = report.has_times_of_each() ? printable(report.logs[i].file) + ": " : "";
    text += "\n" + of + times_text(report.measured[i]);
  }
  return text;
}

std::string runs_json(const RunsReport& report) {
  Json json;
  json["runs"] = Json::array();
  for (size_t i = 0; i < report.logs.size(); ++i) {
    json["runs"].push_back(log_json(report.logs[i]));
    if (report.has_times_of_each()) json["runs"].back()["time"] = reported_json(report.measured[i]);
  }
  if (report.measured.size() == 1) json["time"] = reported_json(report.measured.front());
  return dump_lines(json, 5);
}

}  // namespace mtfc
