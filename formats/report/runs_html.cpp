#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "formats/report/html_page.h"
#include "formats/report/metrics_writer.h"
#include "formats/report/run_curves.h"
#include "formats/report/run_summary.h"
#include "formats/report/runs_verdict.h"
#include "formats/report/runs_writer.h"
#include "formats/text/html_text.h"
#include "formats/text/quantity.h"

namespace mtfc {
namespace {

constexpr std::string_view kRunsStyle = R"(
.meter{height:.7rem;min-width:8rem;background:var(--back);border:1px solid var(--line);margin:.15rem 0}
.meter i{display:block;height:100%}.list th[scope=row]{text-align:left;font-weight:400;cursor:auto;position:static}
.list tfoot th,.list tfoot td{font-weight:600}
.beside thead th{white-space:normal;overflow-wrap:anywhere;min-width:4rem}
@media print{h2{break-before:auto}.plots{grid-template-columns:1fr 1fr}.plot-area{height:9rem}
.list tbody tr:nth-child(n){display:table-row}}
)";

bool is_figure(std::string_view name) {
  return std::find(kMetricsKeys.begin(), kMetricsKeys.end(), name) != kMetricsKeys.end();
}

std::string_view without_prefix(std::string_view name) {
  if (name.starts_with(kHeldOutPrefix)) name.remove_prefix(kHeldOutPrefix.size());
  return name;
}

// The outputs of all runs, each once: the loss first, the others as they appear. Held-out data belong to the output.
std::vector<std::string> output_names(const RunsReport& report) {
  std::vector<std::string> names;
  for (const MetricsLog& log : report.logs)
    for (const MetricsColumn& column : log.columns) {
      const std::string name(without_prefix(column.name));
      if (!is_figure(column.name) && std::find(names.begin(), names.end(), name) == names.end())
        names.push_back(name);
    }
  const auto loss = std::find(names.begin(), names.end(), "loss");
  if (loss != names.end()) std::rotate(names.begin(), loss, loss + 1);
  return names;
}

bool has_times(const RunsReport& report) {
  return std::all_of(report.logs.begin(), report.logs.end(),
                     [](const MetricsLog& log) { return !elapsed_seconds(log).empty(); });
}

// One drawing of a metric with a line for each run, and one for its held-out data.
Plot plot_of(const RunsReport& report, const std::string& metric, bool is_over_time) {
  Plot plot;
  plot.metric = metric;
  plot.is_over_time = is_over_time;
  const bool is_single = report.logs.size() == 1;
  for (size_t run = 0; run < report.logs.size(); ++run) {
    const MetricsLog& log = report.logs[run];
    const std::vector<double> x =
        is_over_time ? elapsed_seconds(log) : std::vector<double>(log.steps.begin(), log.steps.end());
    if (const MetricsColumn* column = log.find(metric))
      plot.lines.push_back(
          {is_single ? (is_figure(metric) ? metric : "training") : log.file, run, false, x, column->values});
    if (const MetricsColumn* column = log.find(std::string(kHeldOutPrefix) + metric))
      plot.lines.push_back({is_single ? "held-out data" : log.file + ", held-out data", is_single ? 1 : run,
                            true, x, column->values});
  }
  return plot;
}

std::string output_plots(const RunsReport& report) {
  std::string html;
  for (const std::string& name : output_names(report)) html += plot_figure(plot_of(report, name, false));
  if (report.logs.size() > 1 && has_times(report))
    for (const std::string& name : output_names(report))
      if (name == "loss") html += plot_figure(plot_of(report, name, true));
  Plot rate = plot_of(report, "learning_rate", false);
  rate.begins_at_zero = true;
  html += plot_figure(rate);
  return html.empty() ? "" : "<h2>Curves</h2><div class=plots>" + html + "</div>";
}

// Tokens are counted where the model has any; otherwise samples.
std::string throughput_plots(const RunsReport& report) {
  const bool is_over_time = has_times(report);
  const bool has_tokens = std::any_of(report.logs.begin(), report.logs.end(), [](const MetricsLog& log) {
    return log.find("tokens_per_second") != nullptr;
  });
  std::string html;
  for (const char* name : {has_tokens ? "tokens_per_second" : "samples_per_second", "mfu", "step_time"}) {
    Plot plot = plot_of(report, name, is_over_time);
    plot.begins_at_zero = std::string_view(name) != "step_time";  // whose first steps would hide the others
    html += plot_figure(plot);
  }
  return html.empty() ? "" : "<h2>Throughput</h2><div class=plots>" + html + "</div>";
}

// The number of a metric that stands for the run: the last one, or the median of a rate.
struct ShownMetric {
  explicit ShownMetric(const MetricSummary& metric) {
    is_rate = metric.name.ends_with("_per_second") || metric.name == "mfu" || metric.name == "step_time";
    value = is_rate ? metric.median : metric.last;
  }
  std::string name(const std::string& of) const { return of + (is_rate ? ", median" : ", at last"); }
  // Nothing is above the peak rate, so a share of one that steps exceed says nothing.
  static bool is_known(const MetricSummary& metric) { return metric.name != "mfu" || metric.most <= 1; }
  std::string text(const MetricSummary& metric) const {
    return is_known(metric) ? metric_text(metric.name, value) : "not known";
  }
  bool is_rate = false;
  double value = 0;
};

// What ran: the mesh and the layout, the command, where and when.
std::vector<std::pair<std::string, std::string>> facts_of(const ReportedRun& run) {
  std::vector<std::pair<std::string, std::string>> facts = {
      {"model", run.model + ", " + run.entry}, {"mesh", run.mesh}, {"layout", run.layout}};
  for (const auto& [name, text] :
       {std::pair{"command", &run.command}, {"host", &run.host}, {"date", &run.date}})
    if (!text->empty()) facts.emplace_back(name, *text);
  return facts;
}

std::string run_facts(const RunsReport& report) {
  if (report.measured.size() != 1) return "";
  std::string html = "<dl class=origin>";
  for (const auto& [name, text] : facts_of(report.measured.front()))
    html += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", name,
                        name == "command" ? "<code>" + html_escaped(text) + "</code>" : html_escaped(text));
  return html + "</dl>";
}

std::string mfu_markup(const MetricsLog& log) {
  const std::string note = mfu_note(log);
  return note.empty() ? "" : "<p class=bad>" + html_escaped(note) + ".</p>";
}

std::string run_tile(const std::string& name, const std::string& value) {
  return fmt::format("<div><dt>{}</dt><dd>{}</dd></div>", html_escaped(name), html_escaped(value));
}

std::string run_tiles(const RunsReport& report) {
  constexpr size_t kLargeTiles = 5;
  std::vector<std::string> tiles;
  if (report.logs.size() == 1) {
    const MetricsLog& log = report.logs.front();
    const std::vector<double> elapsed = elapsed_seconds(log);
    tiles.push_back(run_tile("last step", grouped(log.steps.back())));
    if (!elapsed.empty()) tiles.push_back(run_tile("time from its start", duration_text(elapsed.back())));
    for (const MetricSummary& metric : summaries_of(log)) {
      if (metric.steps == 0) continue;
      const ShownMetric shown(metric);
      tiles.push_back(run_tile(shown.name(metric.name), shown.text(metric)));
    }
  }
  if (report.measured.size() == 1) {
    const ReportedRun& run = report.measured.front();
    tiles.push_back(run_tile("ranks", grouped(run.ranks)));
    tiles.push_back(run_tile("threads per rank", grouped(run.threads)));
    tiles.push_back(run_tile("memory planned per device", bytes_text(run.arena_bytes)));
    tiles.push_back(run_tile("memory of the largest process", bytes_text(run.resident_bytes)));
  }
  if (tiles.empty()) return "";
  const auto rest = tiles.begin() + static_cast<ptrdiff_t>(std::min(kLargeTiles, tiles.size()));
  std::string html = fmt::format("<dl class=\"figures large\">{}</dl>", fmt::join(tiles.begin(), rest, "\n"));
  if (rest != tiles.end())
    html += fmt::format(
        "<details class=more><summary>More figures</summary><dl class=figures>{}</dl></details>\n",
        fmt::join(rest, tiles.end(), "\n"));
  return html;
}

std::string time_meter(double seconds, double most, const char* colour) {
  return fmt::format("<div class=meter aria-hidden=true><i style=\"width:{:.1f}%;background:{}\"></i></div>",
                     most > 0 ? 100 * seconds / most : 0, colour);
}

// `form` is the class of the table.
std::string runs_table_beginning(const std::string& label, const std::vector<std::string>& heads,
                                 const std::string& form = "list") {
  std::string html = fmt::format(
      "<div class=wide tabindex=0 role=group aria-label=\"{}\"><table class=\"{}\"><thead><tr>", label, form);
  for (const std::string& head : heads) html += fmt::format("<th scope=col>{}</th>", head);
  return html + "</tr></thead><tbody>\n";
}

// One row of the table of times; `most` is the longest time of the table.
std::string time_row(const ReportedRun& run, const TimedKind& kind, double most) {
  const bool has_predicted = run.predicted_seconds_per_step.has_value();
  std::string html = fmt::format("<tr><th scope=row>{}</th><td class=word>", html_escaped(kind.kind));
  if (has_predicted) html += time_meter(kind.predicted.value_or(0), most, "var(--r1)");
  html +=
      time_meter(kind.seconds, most, "var(--r0)") +
      fmt::format("</td><td data-v=\"{}\">{}</td>", kind.steps, kind.steps > 0 ? grouped(kind.steps) : "");
  if (has_predicted)
    html += fmt::format("<td data-v=\"{}\">{}</td>", kind.predicted.value_or(0),
                        kind.predicted ? seconds_text(*kind.predicted) : "");
  html += fmt::format("<td data-v=\"{}\">{}</td>", kind.seconds, seconds_text(kind.seconds));
  if (has_predicted) {
    const double ratio = kind.predicted && *kind.predicted > 0 ? kind.seconds / *kind.predicted : 0;
    html += fmt::format("<td data-v=\"{}\">{}</td>", ratio, ratio > 0 ? fmt::format("{:.2f}", ratio) : "");
  }
  const double share = run.seconds_per_step > 0 ? 100 * kind.seconds / run.seconds_per_step : 0;
  return html + fmt::format("<td data-v=\"{}\">{:.1f} %</td></tr>\n", share, share);
}

// `file` names the log of the run, if there are several.
std::string times_of(const ReportedRun& run, const std::string& file) {
  const bool has_predicted = run.predicted_seconds_per_step.has_value();
  std::vector<TimedKind> rows = run.kinds;
  rows.push_back({"inputs", 0, run.input_seconds, std::nullopt, std::nullopt});
  rows.push_back({"other", 0, other_seconds(run), std::nullopt, std::nullopt});
  double most = 0;
  for (const TimedKind& row : rows) most = std::max({most, row.seconds, row.predicted.value_or(0)});
  std::string html = fmt::format(
      "<h2>{}</h2><p class=dim>{}{}, {} on {}. Mean over {} {} and over all devices; for a collective, the "
      "time that "
      "kernels do not hide.{}</p>",
      has_predicted ? "Predicted and measured" : "Time by kind of step",
      file.empty() ? "" : html_escaped(file) + ": ", html_escaped(run.model), html_escaped(run.entry),
      html_escaped(run.mesh), grouped(run.runs), run.runs == 1 ? "step" : "steps",
      has_predicted ? fmt::format(" Predicted for the hardware profile {}.", html_escaped(run.hardware))
                    : " A run with --report and --hardware has predicted times, too.");
  html += "<p class=keys>";
  if (has_predicted)
    html += "<span class=key><i style=\"background:var(--r1)\"></i>predicted (above)</span> ";
  html += "<span class=key><i style=\"background:var(--r0)\"></i>measured</span></p>";
  std::vector<std::string> heads = {"kind", "time", "steps", "measured", "share"};
  if (has_predicted) {
    heads.insert(heads.begin() + 3, "predicted");
    heads.insert(heads.begin() + 5, "measured / predicted");
  }
  html += runs_table_beginning("times by kind of step", heads);
  for (const TimedKind& row : rows) html += time_row(run, row, most);
  html += "</tbody><tfoot>" +
          time_row(run, {"a step", 0, run.seconds_per_step, run.predicted_seconds_per_step, std::nullopt},
                   std::max(run.seconds_per_step, run.predicted_seconds_per_step.value_or(0))) +
          "</tfoot></table></div>";
  return html;
}

// Returns a folded table of what ran. It has a row for each fact and a column for each run.
std::string facts_side_by_side(const RunsReport& report, std::vector<std::string> heads) {
  if (!report.has_times_of_each()) return "";
  heads.front() = "fact";
  std::string html = "<details class=more><summary>Commands, layouts and hosts</summary>" +
                     runs_table_beginning("what ran, side by side", heads);
  for (size_t fact = 0; fact < facts_of(report.measured.front()).size(); ++fact) {
    html += fmt::format("<tr><th scope=row>{}</th>", facts_of(report.measured.front())[fact].first);
    for (const ReportedRun& run : report.measured) {
      const auto facts = facts_of(run);
      html += fmt::format("<td class=\"word flow\">{}</td>",
                          fact < facts.size() ? html_escaped(facts[fact].second) : "");
    }
    html += "</tr>\n";
  }
  return html + "</tbody></table></div></details>";
}

// A row for each metric, and a column for each run; of two runs, also the second less the first, in percent.
std::string side_by_side(const RunsReport& report) {
  if (report.logs.size() < 2) return "";
  std::vector<std::string> heads = {"figure"};
  for (const MetricsLog& log : report.logs) heads.push_back(html_escaped(log.file));
  const std::string facts = facts_side_by_side(report, heads);
  const bool is_pair = report.logs.size() == 2;
  if (is_pair) heads.push_back("change");
  std::string html =
      "<h2>Side by side</h2>" + runs_table_beginning("the runs side by side", heads, "list beside");
  std::vector<std::vector<MetricSummary>> all;
  for (const MetricsLog& log : report.logs) all.push_back(summaries_of(log));
  for (const MetricSummary& metric : all.front()) {
    std::vector<double> numbers;
    std::string cells;
    for (const std::vector<MetricSummary>& run : all) {
      const auto own = std::find_if(run.begin(), run.end(), [&](const MetricSummary& other) {
        return other.name == metric.name && other.steps > 0;
      });
      if (own == run.end() || !ShownMetric::is_known(*own)) {
        cells += own == run.end() ? "<td>-</td>" : "<td>not known</td>";
        continue;
      }
      numbers.push_back(ShownMetric(*own).value);
      cells +=
          fmt::format("<td data-v=\"{}\">{}</td>", numbers.back(), metric_text(metric.name, numbers.back()));
    }
    if (is_pair) {
      const bool is_known = numbers.size() == 2 && numbers[0] != 0;
      const double change = is_known ? 100 * (numbers[1] - numbers[0]) / std::abs(numbers[0]) : 0;
      cells += is_known ? fmt::format("<td data-v=\"{}\">{:+.1f} %</td>", change, change) : "<td>-</td>";
    }
    html += fmt::format("<tr><th scope=row>{}</th>{}</tr>\n",
                        html_escaped(ShownMetric(metric).name(metric.name)), cells);
  }
  return html + "</tbody></table></div>" + facts;
}

std::string all_figures(const RunsReport& report) {
  std::string html = "<h2>All figures</h2>";
  for (const MetricsLog& log : report.logs) {
    if (report.logs.size() > 1)
      html += fmt::format("<h3>{}</h3><p class=dim>{}</p>", html_escaped(log.file), extent_text(log));
    html +=
        runs_table_beginning("figures of " + html_escaped(log.file),
                             {"metric", "first", "last", "least", "at step", "most", "at step", "median"});
    for (const MetricSummary& metric : summaries_of(log)) {
      html += fmt::format("<tr><th scope=row>{}</th>", html_escaped(metric.name));
      const auto number = [&](double value) {
        html += metric.steps == 0
                    ? "<td>-</td>"
                    : fmt::format("<td data-v=\"{}\">{}</td>", value, metric_text(metric.name, value));
      };
      const auto step = [&](int64_t at) {
        html += metric.steps == 0 ? "<td>-</td>" : fmt::format("<td data-v=\"{}\">{}</td>", at, grouped(at));
      };
      number(metric.first), number(metric.last), number(metric.least), step(metric.least_step);
      number(metric.most), step(metric.most_step), number(metric.median);
      html += "</tr>\n";
    }
    html += "</tbody></table></div>";
  }
  return html;
}

}  // namespace

std::string runs_html(const RunsReport& report) {
  const size_t runs = report.logs.size();
  const std::string title = html_escaped(report.measured.size() == 1 ? report.measured.front().model
                                         : runs == 1                 ? report.logs.front().file
                                                                     : fmt::format("{} runs", runs));
  std::string html = fmt::format(
      "<!doctype html>\n<html lang=en><head><meta charset=utf-8><meta name=viewport "
      "content=\"width=device-width,initial-scale=1\">\n<title>{}: report of a "
      "run</title>\n<style>{}{}{}</style></head>"
      "\n<body><main><h1>{}</h1>",
      title, html_style(), kCurveStyle, kRunsStyle, title);
  html += fmt::format("<p class=verdict>{}</p>", html_escaped(runs_verdict(report)));
  for (const MetricsLog& log : report.logs)
    html +=
        fmt::format("<p class=dim>{}: {}</p>", html_escaped(log.file), extent_text(log)) + mfu_markup(log);
  html += run_tiles(report) + side_by_side(report) + run_facts(report) + output_plots(report) +
          throughput_plots(report);
  for (size_t i = 0; i < report.measured.size(); ++i)
    html += times_of(report.measured[i], report.has_times_of_each() ? report.logs[i].file : "");
  return html + all_figures(report) +
         fmt::format("</main><script>{}{}</script></body></html>\n", html_script(), kCurveScript);
}

}  // namespace mtfc
