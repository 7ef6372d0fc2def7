#include "cmd/running/run_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>

#include "cmd/files/files.h"
#include "cmd/running/input_data.h"
#include "core/diagnostics/error.h"
#include "formats/report/metrics_writer.h"

namespace mtfc {
namespace {

constexpr const char* kStandardOutput = "-";

// Keeps only the lines of steps up to `step`.
void cut_metrics(const std::string& path, int64_t step) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return;
  std::ifstream file(path, std::ios::binary);
  uintmax_t kept = 0;
  for (std::string line; std::getline(file, line) && !file.eof(); kept += line.size() + 1)
    if (const std::optional<int64_t> at = metrics_step(line); !at || *at > step) break;
  std::filesystem::resize_file(path, kept, error);
  if (error) throw RunError(fmt::format("cannot write '{}': {}", path, error.message()));
}

}  // namespace

bool uses_standard_output(const RunFileOptions& options) {
  for (const std::string* file : {&options.metrics, &options.report, &options.trace})
    if (*file == kStandardOutput) return true;
  return std::any_of(options.outputs.begin(), options.outputs.end(), [](const std::string& output) {
    return split_assignment(output, "--output").second == kStandardOutput;
  });
}

void require_writable_files(const RunFileOptions& options) {
  require_writable(options.report);
  require_writable(options.trace);
  for (const std::string& output : options.outputs)
    require_writable(split_assignment(output, "--output").second);
}

MetricsFile::MetricsFile(const std::string& path, bool speaks, int64_t step) : path_(path) {
  if (path.empty() || !speaks) return;
  to_standard_output_ = path == kStandardOutput;
  if (to_standard_output_) return;
  if (step > 0) cut_metrics(path, step);
  file_.open(path, step > 0 ? std::ios::app : std::ios::trunc);
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
