#pragma once
// The figures of logs of runs in short: what each metric was at first, at last, at least and at most.

#include <cstdint>
#include <string>
#include <vector>

#include "formats/report/metrics_reader.h"

namespace mtfc {

/// One metric over the steps that have a finite number for it. Without such a step, only the name is set.
struct MetricSummary {
  std::string name;
  int64_t steps = 0;  // that have a finite number
  double first = 0, last = 0, least = 0, most = 0, mean = 0, median = 0;
  int64_t first_step = 0, last_step = 0, least_step = 0, most_step = 0;  // the first of equal ones
};

MetricSummary summary_of(const MetricsLog& log, const MetricsColumn& column);
/// Of all metrics but the time since the start.
std::vector<MetricSummary> summaries_of(const MetricsLog& log);

/// The number as people read it: a time, a percentage, a rate, or six digits of anything else, as its name says.
std::string metric_text(const std::string& name, double number);

/// `steps 1 to 100 in 12.3 s`, without the time if the log lacks it.
std::string extent_text(const MetricsLog& log);

}  // namespace mtfc
