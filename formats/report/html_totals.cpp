#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "core/cost/part_times.h"
#include "core/program/repeated_names.h"
#include "formats/report/html_parts.h"
#include "formats/report/html_sections.h"
#include "formats/text/html_text.h"
#include "formats/text/quantity.h"

namespace mtfc {
namespace {

// What steps of one kind, or over the same axes, come to.
struct StepTotals {
  int64_t runs = 0;
  double seconds = 0;
  int64_t flops = 0;
  int64_t bytes_sent = 0;
  bool communicates = false;

  void add(const StepCost& step) {
    runs += step.count.runs;
    seconds += step.time.seconds;
    flops += step.count.flops;
    bytes_sent += step.count.bytes_sent;
    communicates = communicates || !step.axes.empty();
  }
};

using NamedTotals = std::vector<std::pair<std::string, StepTotals>>;

// The longest first; without times, those with the most bytes and then the most arithmetic.
NamedTotals in_order(const std::map<std::string, StepTotals>& totals) {
  NamedTotals ordered(totals.begin(), totals.end());
  std::stable_sort(ordered.begin(), ordered.end(), [](const auto& a, const auto& b) {
    return std::tuple(a.second.seconds, a.second.bytes_sent, a.second.flops) >
           std::tuple(b.second.seconds, b.second.bytes_sent, b.second.flops);
  });
  return ordered;
}

std::string totals_table(const CostReport& report, const std::string& label, const std::string& name,
                         const NamedTotals& totals) {
  const bool timed = report.time.has_value();
  if (totals.empty()) return "";
  double longest = 0, most_sent = 0;
  for (const auto& [unused, total] : totals) {
    longest = std::max(longest, total.seconds);
    most_sent = std::max(most_sent, static_cast<double>(total.bytes_sent));
  }
  std::vector<HtmlColumn> columns = {{name}, {"runs"}};
  if (timed) columns.push_back({"time"});
  columns.insert(columns.end(), {{"FLOP"}, {"sent"}});
  std::string html = html_table(label, columns, timed ? std::optional<size_t>(2) : std::nullopt);
  for (const auto& [own_name, total] : totals) {
    const auto sent = static_cast<double>(total.bytes_sent);
    html += "<tr>" + html_row_head(html_escaped(own_name)) + html_number(total.runs, grouped(total.runs));
    if (timed)
      html += html_number(
          total.seconds, seconds_text(total.seconds),
          html_bar({{total.seconds, total.communicates ? colour::kCommunication : colour::kKernels}},
                   longest));
    html += html_number(total.flops, count_text(total.flops, "")) +
            html_number(sent, bytes_in(report, total.bytes_sent),
                        html_bar({{sent, colour::kCommunication}}, most_sent)) +
            "</tr>\n";
  }
  return html + std::string(html_table_end());
}

// For each part of the model two bars: its kernels and collectives, and the least time at peak rates.
std::string parts_table(const CostReport& report, size_t depth) {
  const std::vector<PartTime> parts = part_times(report, depth);
  if (parts.empty()) return "";
  const double longest = parts.front().kernels_s + parts.front().collectives_s;
  double most_sent = 0;
  for (const PartTime& part : parts) most_sent = std::max(most_sent, static_cast<double>(part.bytes_sent));
  std::string html =
      "<h4>By layer</h4><p class=keys>" + html_key(colour::kKernels, "kernels") +
      html_key(colour::kCommunication, "collectives, and bytes sent") +
      html_key(colour::kAtPeak, "at peak rates") +
      "</p><p class=dim>Blocks that are repeated are added up. Collectives may run beside kernels.</p>" +
      html_table("time and bytes by layer",
                 {{"block"}, {"time"}, {"kernels"}, {"collectives"}, {"at peak"}, {"share"}, {"sent"}}, 1);
  for (const PartTime& part : parts) {
    const double together = part.kernels_s + part.collectives_s,
                 share = together > 0 ? part.at_peak_s / together : 0;
    const auto sent = static_cast<double>(part.bytes_sent);
    html += "<tr>" + html_row_head(part.part.empty() ? "(no block)" : html_escaped(folded(part.names))) +
            html_number(
                together, seconds_text(together),
                html_bar({{part.kernels_s, colour::kKernels}, {part.collectives_s, colour::kCommunication}},
                         longest) +
                    html_bar({{part.at_peak_s, colour::kAtPeak}}, longest)) +
            html_number(part.kernels_s, seconds_text(part.kernels_s)) +
            html_number(part.collectives_s, seconds_text(part.collectives_s)) +
            html_number(part.at_peak_s, seconds_text(part.at_peak_s)) +
            fmt::format("<td data-v=\"{:.4g}\">{:.0f} %</td>", share, 100 * share) +
            html_number(sent, bytes_in(report, part.bytes_sent),
                        html_bar({{sent, colour::kCommunication}}, most_sent)) +
            "</tr>\n";
  }
  return html + std::string(html_table_end());
}

}  // namespace

std::string totals_tables(const CostReport& report, size_t parts) {
  std::map<std::string, StepTotals> kinds, axes;
  for (const StepCost& step : report.steps) {
    kinds[step.kind].add(step);
    if (!step.axes.empty()) axes[report.layout.mesh.names(step.axes)].add(step);
  }
  std::string html = "<div class=pair><div><h4>By kind of step</h4>" +
                     totals_table(report, "time and bytes by kind of step", "kind", in_order(kinds)) +
                     "</div>";
  if (!axes.empty())
    html += "<div><h4>By mesh axis</h4>" +
            totals_table(report, "time and bytes by mesh axis", "over", in_order(axes)) + "</div>";
  html += "</div>";
  if (report.time) html += parts_table(report, parts);
  return html;
}

}  // namespace mtfc
