#include "cmd/running/run_log.h"

#include <fmt/format.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>

#include "cmd/files/files.h"
#include "core/diagnostics/error.h"
#include "formats/report/event_writer.h"
#include "runtime/processes/job.h"

namespace mtfc {
namespace {

double seconds_since_1970() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// A name that no file of the folder has, and that comes after those of earlier ones in the order of names.
std::string new_event_path(const std::string& folder) {
  const std::string path = (std::filesystem::path(folder) / fmt::format("events.out.tfevents.{:010.0f}.{}",
                                                                        seconds_since_1970(), host_name()))
                               .string();
  std::string free = path;
  std::error_code ignored;
  for (int i = 1; std::filesystem::exists(free, ignored); ++i) free = fmt::format("{}.{}", path, i);
  return free;
}

void append_named(std::vector<NamedNumber>& all, const std::string& prefix,
                  const std::vector<NamedNumber>& more) {
  for (const auto& [name, value] : more) all.emplace_back(prefix + name, value);
}

}  // namespace

EventFile::EventFile(const std::string& folder, bool is_root, int64_t step) {
  if (folder.empty() || !is_root) return;
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw RunError(fmt::format("cannot write '{}': {}", folder, error.message()));
  path_ = new_event_path(folder);
  usable_target(path_);
  file_.open(path_, std::ios::binary | std::ios::trunc);
  put(event_file_beginning({seconds_since_1970(), step == 0 ? 0 : step + 1}));
}

void EventFile::write(int64_t step, const std::vector<NamedNumber>& scalars) {
  if (file_.is_open()) put(scalars_record({seconds_since_1970(), step}, scalars));
}

void EventFile::put(const std::string& records) {
  file_.write(records.data(), static_cast<std::streamsize>(records.size()));
  file_ << std::flush;
  if (!file_) throw RunError(fmt::format("cannot write '{}': {}", path_, std::strerror(errno)));
}

void RunLog::write(const LoggedStep& logged) {
  std::vector<NamedNumber> line = logged.outputs, scalars = logged.outputs;
  append_named(line, std::string(kHeldOutPrefix), logged.held_out);
  metrics_.write(metrics_line(logged.step, line, logged.figures));
  append_named(scalars, "", named(logged.figures));
  append_named(scalars, std::string(kEvaluationTag), logged.held_out);
  events_.write(logged.step, scalars);
}

void RunLog::write_evaluation(const std::vector<NamedNumber>& means, const StepFigures& figures) {
  metrics_.write(metrics_line(0, means, figures));
  std::vector<NamedNumber> scalars;
  append_named(scalars, std::string(kEvaluationTag), means);
  events_.write(0, scalars);
}

}  // namespace mtfc
