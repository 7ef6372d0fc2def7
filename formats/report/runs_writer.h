#pragma once
// Reports of runs that have been made: their metrics over the steps, and measured times beside predicted ones.

#include <string>
#include <vector>

#include "formats/report/metrics_reader.h"
#include "formats/report/reported_run.h"

namespace mtfc {

struct RunsReport {
  std::vector<MetricsLog> logs;  // at least one
  std::vector<ReportedRun>
      measured;  // the times by kind of step: none, those of one run, or of each log in its order

  /// Whether each log has times of its own.
  bool has_times_of_each() const { return measured.size() > 1; }
};

/// For the terminal: a table of the metrics of each run, and one of the times.
std::string runs_text(const RunsReport& report);
/// {"runs": [{"file", "steps", ..., "metrics": {"loss": {"first", "last", ...}}}], "time": {...}}. If each log has
/// times of its own, "time" is in its object.
std::string runs_json(const RunsReport& report);
/// One page that needs no network: curves over the steps, those of all runs in one drawing; throughput; times by kind
/// of step. Without scripts, it shows the text. Its size does not depend on the number of steps.
std::string runs_html(const RunsReport& report);

}  // namespace mtfc
