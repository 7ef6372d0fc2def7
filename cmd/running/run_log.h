#pragma once
// The logs of a run, which rank 0 writes step by step: the lines of --metrics, and the event files of
// --tensorboard.

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "cmd/running/run_files.h"
#include "cmd/terminal/progress.h"
#include "formats/report/metrics_writer.h"

namespace mtfc {

/// One step, or an evaluation over data.
struct LoggedStep {
  int64_t step = 0;                   // steps made
  std::vector<NamedNumber> outputs;   // of the training step
  std::vector<NamedNumber> held_out;  // means over the data of --valid
  StepFigures figures;
};

/// An event file in a folder, which it makes. Throws RunError if it can't be written.
class EventFile {
 public:
  /// An empty `folder` means no file. Events are about the steps after the first `step`; readers forget what earlier
  /// files of the folder say about them.
  EventFile(const std::string& folder, bool is_root, int64_t step);
  void write(int64_t step, const std::vector<NamedNumber>& scalars);

 private:
  void put(const std::string& records);
  std::string path_;
  std::ofstream file_;
};

class RunLog {
 public:
  /// The run continues after `step` steps, or begins (0). Only on a rank that `is_root`, anything is written.
  RunLog(const RunFileOptions& options, bool is_root, int64_t step)
      : metrics_(options.metrics, is_root, step), events_(options.tensorboard, is_root, step) {}

  /// The file in which the metrics of an earlier run are kept, or "".
  const std::string& earlier_metrics() const { return metrics_.earlier(); }
  void write(const LoggedStep& logged);
  /// The means over the data of --evaluate, and the seconds that it took.
  void write_evaluation(const std::vector<NamedNumber>& means, const StepFigures& figures);

 private:
  MetricsFile metrics_;
  EventFile events_;
};

}  // namespace mtfc
