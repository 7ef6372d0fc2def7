#pragma once
// The files that a run writes: metrics, a report, tensors. `-` is standard output, which takes one of them and then
// nothing else: messages for people go to standard error.

#include <fstream>
#include <string>

#include "cmd/running/run_options.h"

namespace mtfc {

/// Whether one of the files is standard output.
bool uses_standard_output(const RunFileOptions& options);

/// Throws RunError if a file can't be written. Only rank 0, which creates the files, should call it.
void require_writable_files(const RunFileOptions& options);

/// One line of JSON per step, written by one rank as the run goes. Throws RunError.
class MetricsFile {
 public:
  /// `path` may be empty: no file. A run that goes on after `step` steps keeps what the file says of them and
  /// cuts off the rest; one that begins (0) starts the file anew.
  MetricsFile(const std::string& path, bool speaks, int64_t step = 0);
  void write(const std::string& line);

 private:
  void check();
  std::string path_;
  bool to_standard_output_ = false;
  std::ofstream file_;
};

}  // namespace mtfc
