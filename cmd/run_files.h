#pragma once
// The files that a run writes: metrics, a report, tensors. `-` is standard output, which takes one of them
// and then nothing else: what is for people goes to standard error.

#include <fstream>
#include <string>
#include <vector>

#include "cmd/run_options.h"
#include "core/sharding.h"
#include "runtime/comm.h"
#include "runtime/executor.h"

namespace mtfc {

/// Whether one of the files is standard output.
bool uses_standard_output(const RunOptions& options);

/// Throws UserError where two files would be standard output, or a tensor would go to a terminal, and
/// RunError where a file can't be written. Of rank 0, which creates the files.
void require_writable_files(const RunOptions& options);

/// One line of JSON per step, written by one rank as the run goes. Throws RunError.
class MetricsFile {
 public:
  /// `path` may be empty: no file.
  MetricsFile(const std::string& path, bool speaks);
  void write(const std::string& line);

 private:
  void check();
  std::string path_;
  bool to_standard_output_ = false;
  std::ofstream file_;
};

/// Writes a tensor as .npy to `path`, as write_array does, or to standard output. All ranks call it.
void write_npy(Comm& comm, const std::string& path, const TensorType& type, const Sharding& sharding,
               const std::vector<LocalPart>& parts);

}  // namespace mtfc
