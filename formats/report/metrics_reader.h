#pragma once
// Reads what runs have logged with --metrics.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/diagnostics/error.h"

namespace mtfc {

/// The numbers under one key, one for each step of the log; NaN where a line has null or lacks the key.
struct MetricsColumn {
  std::string name;
  std::vector<double> values;
};

struct MetricsLog {
  std::string file;
  std::vector<int64_t> steps;          // ascending, at least one
  std::vector<MetricsColumn> columns;  // of all keys but `step`, in the order in which they first appear

  /// nullptr if no line has the key.
  const MetricsColumn* find(std::string_view name) const;
};

/// Reads the lines of a run. If steps go back, because the run has been started again from a checkpoint, the later
/// lines count and those of these steps and of later ones before them do not. A last line that is not complete, because
/// the run was killed or still goes on, is left out with a warning. Throws UserError, with the line, for anything else
/// that --metrics does not write, and for a file without steps.
MetricsLog read_metrics(std::string_view text, const std::string& file, std::vector<Diagnostic>& warnings);

/// The seconds since the first process of the run began, for each step of the log: the times of processes that went on
/// with the run are added up. Empty if the log has no `wall_time` for some step.
std::vector<double> elapsed_seconds(const MetricsLog& log);

}  // namespace mtfc
