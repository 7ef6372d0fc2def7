#include "cmd/run_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "cmd/files.h"
#include "cmd/input_data.h"
#include "core/error.h"

namespace mtfc {
namespace {

constexpr const char* kStandardOutput = "-";

}  // namespace

bool uses_standard_output(const RunOptions& options) {
  for (const std::string* file : {&options.metrics, &options.report, &options.trace})
    if (*file == kStandardOutput) return true;
  return std::any_of(options.outputs.begin(), options.outputs.end(), [](const std::string& output) {
    return split_assignment(output, "--output").second == kStandardOutput;
  });
}

void require_writable_files(const RunOptions& options) {
  require_writable(options.report);
  require_writable(options.trace);
  for (const std::string& output : options.outputs)
    require_writable(split_assignment(output, "--output").second);
}

MetricsFile::MetricsFile(const std::string& path, bool speaks) : path_(path) {
  if (path.empty() || !speaks) return;
  to_standard_output_ = path == kStandardOutput;
  if (to_standard_output_) return;
  file_.open(path, std::ios::trunc);
  check();
}

void MetricsFile::write(const std::string& line) {
  if (to_standard_output_) return write_text(path_, line + "\n");
  if (!file_.is_open()) return;
  file_ << line << "\n" << std::flush;
  check();
}

void MetricsFile::check() {
  if (!file_) throw RunError(fmt::format("cannot write '{}': {}", path_, std::strerror(errno)));
}

}  // namespace mtfc
