#include "cmd/running/run_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <functional>

#include "cmd/files/files.h"
#include "cmd/running/input_data.h"
#include "cmd/running/run_data.h"
#include "core/diagnostics/error.h"
#include "formats/report/event_writer.h"
#include "formats/report/metrics_writer.h"

namespace mtfc {
namespace {

constexpr const char* kStandardOutput = "-";

// Passes the complete lines of a file to `visit`, and returns what follows the last of them.
std::string visit_lines(const std::string& path, const std::function<void(const std::string&)>& visit) {
  std::ifstream file(path, std::ios::binary);
  std::string line;
  while (std::getline(file, line)) {
    if (file.eof()) return line;
    visit(line);
  }
  return "";
}

// Removes the lines of steps after `step`, and an incomplete last line.
void cut_metrics(const std::string& path, int64_t step) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return;
  std::string kept;
  bool cuts = false, keeps_later_lines = false;
  visit_lines(path, [&](const std::string& line) {
    const bool stays = metrics_step(line).value_or(0) <= step;
    cuts |= !stays;
    keeps_later_lines |= cuts && stays;
    if (stays) kept += line + "\n";
  });
  if (keeps_later_lines) return write_text(path, kept);
  // Usually the file is only cut off, and whoever follows it can go on.
  std::filesystem::resize_file(path, kept.size(), error);
  if (error) throw RunError(fmt::format("cannot write '{}': {}", path, error.message()));
}

// Moves a file that is not empty out of the way, and returns its new name; "" if there is nothing to keep.
std::string kept_under_another_name(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error) || std::filesystem::file_size(path, error) == 0)
    return "";
  std::string name;
  for (int i = 1; name.empty() || std::filesystem::exists(name, error); ++i)
    name = fmt::format("{}.{}", path, i);
  std::filesystem::rename(path, name, error);
  if (error) throw RunError(fmt::format("cannot rename '{}' to '{}': {}", path, name, error.message()));
  return name;
}

// Refuses to continue a file that no run has written.
void require_only_metrics(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return;
  int64_t number = 0;
  const auto refuse = [&] {
    throw UserError(
        fmt::format("{}:{}: this line is not one that --metrics has written, so --resume does not "
                    "continue the file",
                    path, number),
        "name another file with --metrics");
  };
  const std::string rest = visit_lines(path, [&](const std::string& line) {
    ++number;
    if (!metrics_step(line)) refuse();
  });
  ++number;
  if (!begins_metrics(rest)) refuse();
}

}  // namespace

bool uses_standard_output(const RunFileOptions& options) {
  for (const std::string* file : {&options.metrics, &options.report, &options.trace})
    if (*file == kStandardOutput) return true;
  if (options.prediction && options.prediction->file == kStandardOutput) return true;
  return std::any_of(options.outputs.begin(), options.outputs.end(), [](const std::string& output) {
    return split_assignment(output, "--output").second == kStandardOutput;
  });
}

void require_writable_files(const RunFileOptions& options) {
  require_writable(options.report);
  require_writable(options.trace);
  if (!options.metrics.empty() && options.metrics != kStandardOutput) usable_target(options.metrics);
  for (const std::string& output : options.outputs)
    require_writable(split_assignment(output, "--output").second);
  if (options.prediction) require_writable(options.prediction->file);
  if (!options.tensorboard.empty()) require_writable_folder(options.tensorboard);
}

namespace {

// The outputs of an entry point that are single numbers.
std::vector<std::string> logged_outputs(const EntryPoint& entry) {
  std::vector<std::string> names;
  for (const Binding& output : entry.outputs)
    if (entry.values[output.value].type.dims.empty()) names.push_back(output.name);
  return names;
}

// Refuses an output with a name that another number of the same line has. `option` writes the lines, in which means
// over the data of --valid have the names `means`.
void require_names(const std::string& option, const std::vector<std::string>& outputs,
                   const std::vector<std::string>& means) {
  const auto has = [](const auto& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  const std::string hint = "rename the output in the model";
  for (const std::string& name : outputs) {
    if (is_metrics_key(name))
      throw UserError(fmt::format("{}: the output '{}' has the name of another {}", option, name,
                                  option == "--tensorboard" ? "number of each step" : "key of each line"),
                      hint);
    if (has(means, name))
      throw UserError(
          fmt::format("{}: the output '{}' has the name of the mean of '{}' over the data of --valid", option,
                      name, name.substr(name.find('/') + 1)),
          hint);
  }
}

}  // namespace

void require_metrics(const RunOptions& options, const Program& program) {
  const EntryPoint& entry = main_entry(program, options.evaluate);
  const auto means = [&](std::string_view prefix) {
    std::vector<std::string> names;
    if (!options.valid.empty()) names = logged_outputs(*program.find("evaluate"));
    for (std::string& name : names) name.insert(0, prefix);
    return names;
  };
  if (!options.metrics.empty()) require_names("--metrics", logged_outputs(entry), means(kHeldOutPrefix));
  if (!options.tensorboard.empty())
    require_names("--tensorboard", logged_outputs(entry), means(kEvaluationTag));
  if (options.resume && !options.metrics.empty()) require_only_metrics(options.metrics);
}

MetricsFile::MetricsFile(const std::string& path, bool is_root, int64_t step) : path_(path) {
  if (path.empty() || !is_root) return;
  to_standard_output_ = path == kStandardOutput;
  if (to_standard_output_) return;
  if (step > 0) cut_metrics(path, step);
  if (step == 0) earlier_ = kept_under_another_name(path);
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
