#pragma once
// Reads what `mtfc run --report` writes (run_report_json in formats/report/report_writer.h), as far as reports of runs
// show it.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mtfc {

/// All steps of one kind in a step of the model: the mean over devices, in seconds.
struct TimedKind {
  std::string kind;
  int64_t steps = 0;
  double seconds = 0;
  std::optional<double> predicted;
  std::optional<double> waiting;  // the part of a collective that nothing hides
};

struct ReportedRun {
  std::string model, entry, mesh, layout;
  std::string command, host, date;  // "" in reports of old versions
  std::string hardware;             // that times are predicted for; "": none
  int64_t ranks = 1, threads = 1;
  int64_t arena_bytes = 0, resident_bytes = 0;
  int64_t runs = 0;             // over which times are averaged
  double seconds_per_step = 0;  // all of it
  double input_seconds = 0;     // the part that fills inputs
  std::optional<double> predicted_seconds_per_step;
  std::vector<TimedKind> kinds;  // that takes longest comes first
};

/// Returns whether the text begins like one that `mtfc run --report` writes.
bool is_run_report(std::string_view text);

/// Throws UserError for text that `mtfc run --report` does not write.
ReportedRun read_run_report(std::string_view text, const std::string& file);

/// The seconds of a step that no kind and no input accounts for: agreement between ranks, and outputs. At least 0.
double other_seconds(const ReportedRun& run);

}  // namespace mtfc
