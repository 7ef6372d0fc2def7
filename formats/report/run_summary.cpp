#include "formats/report/run_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "formats/text/quantity.h"

namespace mtfc {

MetricSummary summary_of(const MetricsLog& log, const MetricsColumn& column) {
  MetricSummary summary;
  summary.name = column.name;
  std::vector<double> finite;
  double sum = 0;
  for (size_t i = 0; i < column.values.size(); ++i) {
    const double value = column.values[i];
    if (!std::isfinite(value)) continue;
    const int64_t step = log.steps[i];
    const bool is_first = finite.empty();
    finite.push_back(value);
    sum += value;
    if (is_first) summary.first = value, summary.first_step = step;
    if (is_first || value < summary.least) summary.least = value, summary.least_step = step;
    if (is_first || value > summary.most) summary.most = value, summary.most_step = step;
    summary.last = value;
    summary.last_step = step;
  }
  summary.steps = static_cast<int64_t>(finite.size());
  if (finite.empty()) return summary;
  summary.mean = sum / static_cast<double>(finite.size());
  const auto middle = finite.begin() + static_cast<std::ptrdiff_t>(finite.size() / 2);
  std::nth_element(finite.begin(), middle, finite.end());
  summary.median = *middle;
  if (finite.size() % 2 == 0) summary.median = (*middle + *std::max_element(finite.begin(), middle)) / 2;
  return summary;
}

std::vector<MetricSummary> summaries_of(const MetricsLog& log) {
  std::vector<MetricSummary> summaries;
  for (const MetricsColumn& column : log.columns)
    if (column.name != "wall_time") summaries.push_back(summary_of(log, column));
  return summaries;
}

std::string metric_text(const std::string& name, double number) {
  if (name == "step_time" || name == "wall_time") return seconds_text(number);
  if (name == "mfu") return fmt::format("{:.3g} %", 100 * number);
  if (name.ends_with("_per_second")) return amount_text(number);
  return fmt::format("{:.6g}", number);
}

std::string extent_text(const MetricsLog& log) {
  const std::vector<double> elapsed = elapsed_seconds(log);
  std::string text = log.steps.size() == 1 ? fmt::format("step {}", grouped(log.steps[0]))
                                           : fmt::format("steps {} to {}", grouped(log.steps.front()),
                                                         grouped(log.steps.back()));
  if (!elapsed.empty() && elapsed.back() > 0)
    text += fmt::format(", {} from the start of the run", duration_text(elapsed.back()));
  return text;
}

}  // namespace mtfc
