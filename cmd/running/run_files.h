#pragma once
// The files that a run writes: metrics, a report, tensors. `-` is standard output, which takes only one of
// them and nothing else: messages for people then go to standard error.

#include <fstream>
#include <string>

#include "cmd/running/run_options.h"
#include "core/program/program.h"

namespace mtfc {

/// Returns whether one of the files is standard output.
bool uses_standard_output(const RunFileOptions& options);

/// Throws RunError if a file can't be written. Called on rank 0, which creates the files.
void require_writable_files(const RunFileOptions& options);

/// Throws UserError if --metrics or --tensorboard can't be as asked: an output has the name of another number that is
/// logged with it, or the file that --resume would continue holds something else. Called on rank 0.
void require_metrics(const RunOptions& options, const Program& program);

/// Writes one line of JSON per step, on one rank, during the run. Throws RunError.
class MetricsFile {
 public:
  /// An empty `path` means no file. A run that continues after `step` steps keeps the file's lines about them
  /// and removes those of later steps; one that begins (0) starts the file anew, and keeps what an earlier run has
  /// written under another name.
  MetricsFile(const std::string& path, bool is_root, int64_t step = 0);
  /// The new name of the earlier run's file, or "".
  const std::string& earlier() const { return earlier_; }
  void write(const std::string& line);

 private:
  void check();
  std::string path_, earlier_;
  bool to_standard_output_ = false;
  std::ofstream file_;
};

}  // namespace mtfc
