#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "formats/report/html_page.h"
#include "formats/report/metrics_writer.h"
#include "formats/report/run_summary.h"
#include "formats/report/runs_verdict.h"
#include "formats/report/runs_writer.h"
#include "formats/text/quantity.h"

namespace mtfc {
namespace {

constexpr size_t kMostPoints = 500;  // of a line, about as many as a screen can tell apart

// A point of a line: one step, or the means and the extremes of several.
struct PlotPoint {
  double step = 0, seconds = 0, y = 0, least = 0, most = 0;
  int64_t count = 1;
  bool follows_gap = false;

  void add(const PlotPoint& other) {
    ++count;
    const auto move = [&](double& mean, double value) {
      mean += (value - mean) / static_cast<double>(count);
    };
    move(step, other.step);
    move(seconds, other.seconds);
    move(y, other.y);
    least = std::min(least, other.y);
    most = std::max(most, other.y);
  }
};

// The finite numbers of a column. If they are more than kMostPoints, steps within equal ranges are one point.
std::vector<PlotPoint> line_points(const MetricsLog& log, const MetricsColumn& column,
                                   const std::vector<double>& elapsed) {
  std::vector<PlotPoint> points;
  const auto finite = std::count_if(column.values.begin(), column.values.end(),
                                    [](double value) { return std::isfinite(value); });
  const auto begin = static_cast<double>(log.steps.front()),
             range = static_cast<double>(log.steps.back()) - begin;
  const bool is_thinned = finite > static_cast<int64_t>(kMostPoints);
  size_t group = 0;  // of the last point, among the ranges of steps
  bool is_broken = false;
  for (size_t i = 0; i < log.steps.size(); ++i) {
    const double value = column.values[i], step = static_cast<double>(log.steps[i]);
    if (!std::isfinite(value)) {
      is_broken = !points.empty();
      continue;
    }
    const PlotPoint point{step, elapsed.empty() ? 0 : elapsed[i], value, value, value, 1, is_broken};
    const size_t here =
        std::min(kMostPoints - 1, static_cast<size_t>((step - begin) / std::max(range, 1.0) * kMostPoints));
    if (is_thinned && !points.empty() && here == group)
      points.back().add(point);
    else
      points.push_back(point);
    group = here;
    is_broken = false;
  }
  return points;
}

// Each point as [step, seconds, the time as text, number, its text, least, most, whether the line is broken before it].
Json points_data(const std::vector<PlotPoint>& points, const std::string& metric) {
  Json data = Json::array();
  for (const PlotPoint& point : points) {
    std::string text = metric_text(metric, point.y);
    if (point.least < point.most)
      text += fmt::format(" ({} to {})", metric_text(metric, point.least), metric_text(metric, point.most));
    data.push_back({rounded(point.step, 9), rounded(point.seconds, 9), duration_text(point.seconds),
                    rounded(point.y), std::move(text), rounded(point.least), rounded(point.most),
                    point.follows_gap});
  }
  return data;
}

bool is_rate(const std::string& metric) {
  return metric.ends_with("_per_second") || metric == "mfu" || metric == "step_time";
}

// What stands for a metric of a run: the last number, or the median of a rate. Nothing is above the peak rate, so a
// share of one that steps exceed says nothing.
std::optional<double> shown_number(const MetricSummary& metric) {
  if (metric.steps == 0 || (metric.name == "mfu" && metric.most > 1)) return std::nullopt;
  return is_rate(metric.name) ? metric.median : metric.last;
}

// By how much what stands for a metric is larger in a second run, or null.
Json change_figure(const MetricSummary& metric, const MetricsLog& second) {
  for (const MetricSummary& other : summaries_of(second)) {
    const auto before = shown_number(metric), after = shown_number(other);
    if (other.name != metric.name || !before || !after || *before == 0) continue;
    const double percent = 100 * (*after - *before) / std::abs(*before);
    return figure(percent, fmt::format("{:+.1f} %", percent));
  }
  return {};
}

Json metric_data(const MetricsLog& log, const MetricsColumn& column, const std::vector<double>& elapsed) {
  const MetricSummary metric = summary_of(log, column);
  const auto shown = shown_number(metric);
  const std::string& name = metric.name;
  const auto number = [&](double value) { return figure(value, metric_text(name, value)); };
  const auto time_of = [&](int64_t step) {
    const auto at = std::lower_bound(log.steps.begin(), log.steps.end(), step) - log.steps.begin();
    return elapsed.empty() ? "" : duration_text(elapsed[static_cast<size_t>(at)]);
  };
  const bool is_figure = is_metrics_key(name);
  const bool is_held_out = name.starts_with(kHeldOutPrefix);
  return {{"name", name},
          {"count", metric.steps},
          {"output", is_figure ? "" : name.substr(is_held_out ? kHeldOutPrefix.size() : 0)},
          {"isHeldOut", is_held_out},
          {"isRate", is_rate(name)},
          {"shown", shown ? number(*shown) : Json()},
          {"first", number(metric.first)},
          {"firstStep", figure(metric.first_step)},
          {"firstTime", time_of(metric.first_step)},
          {"last", number(metric.last)},
          {"lastStep", figure(metric.last_step)},
          {"lastTime", time_of(metric.last_step)},
          {"least", number(metric.least)},
          {"leastStep", figure(metric.least_step)},
          {"most", number(metric.most)},
          {"mostStep", figure(metric.most_step)},
          {"median", number(metric.median)},
          {"points", points_data(line_points(log, column, elapsed), name)}};
}

Json run_data(const MetricsLog& log) {
  const std::vector<double> elapsed = elapsed_seconds(log);
  Json metrics = Json::array();
  for (const MetricsColumn& column : log.columns)
    if (column.name != "wall_time") metrics.push_back(metric_data(log, column, elapsed));
  return {{"file", log.file},
          {"extent", extent_text(log)},
          {"note", mfu_note(log)},
          {"lines", log.steps.size()},
          {"lastStep", grouped(log.steps.back())},
          {"elapsed", elapsed.empty() ? "" : duration_text(elapsed.back())},
          {"metrics", std::move(metrics)}};
}

// [kind, steps, predicted, measured, ratio, share]; null for what is not predicted.
Json time_row(const ReportedRun& run, const TimedKind& kind) {
  const double share = run.seconds_per_step > 0 ? 100 * kind.seconds / run.seconds_per_step : 0;
  const double ratio = kind.predicted && *kind.predicted > 0 ? kind.seconds / *kind.predicted : 0;
  return Json::array({kind.kind, figure(kind.steps),
                      kind.predicted ? seconds_figure(*kind.predicted) : Json(), seconds_figure(kind.seconds),
                      figure(ratio, fmt::format("{:.2f}", ratio)),
                      figure(share, fmt::format("{:.1f} %", share))});
}

Json times_data(const ReportedRun& run) {
  Json rows = Json::array(), facts = Json::array(), figures = Json::array();
  for (const TimedKind& kind : run.kinds) rows.push_back(time_row(run, kind));
  rows.push_back(time_row(run, {"inputs", 0, run.input_seconds, {}, {}}));
  rows.push_back(time_row(run, {"other", 0, other_seconds(run), {}, {}}));
  const std::string model = run.model + ", " + run.entry;
  for (const auto& [name, text] : {std::pair("model", &model),
                                   {"mesh", &run.mesh},
                                   {"layout", &run.layout},
                                   {"command", &run.command},
                                   {"host", &run.host},
                                   {"date", &run.date}})
    if (!text->empty()) facts.push_back({name, *text, text == &run.command});
  for (const auto& [name, text] : {std::pair("ranks", grouped(run.ranks)),
                                   {"threads per rank", grouped(run.threads)},
                                   {"memory planned per device", bytes_text(run.arena_bytes)},
                                   {"memory of the largest process", bytes_text(run.resident_bytes)}})
    figures.push_back(Json::array({name, text}));
  return {{"about", fmt::format("{} on {}. Mean over {} {}", model, run.mesh, grouped(run.runs),
                                run.runs == 1 ? "step" : "steps")},
          {"facts", std::move(facts)},
          {"figures", std::move(figures)},
          {"hardware", run.hardware},
          {"rows", std::move(rows)},
          {"total", time_row(run, {"a step", 0, run.seconds_per_step, run.predicted_seconds_per_step, {}})}};
}

}  // namespace

std::string runs_html(const RunsReport& report) {
  const std::string title = report.measured.size() == 1 ? report.measured.front().model
                            : report.logs.size() == 1   ? report.logs.front().file
                                                        : fmt::format("{} runs", report.logs.size());
  Json changes = Json::object();
  if (report.logs.size() == 2)
    for (const MetricSummary& metric : summaries_of(report.logs.front()))
      changes[metric.name] = change_figure(metric, report.logs.back());
  const Json data = {{"page", "runs"},
                     {"title", title},
                     {"verdict", runs_verdict(report)},
                     {"runs", json_list(report.logs, run_data)},
                     {"changes", std::move(changes)},
                     {"times", json_list(report.measured, times_data)}};
  return html_page(title + ": report of a run", data, runs_text(report));
}

}  // namespace mtfc
