#include "cmd/running/run_options.h"

#include <fmt/format.h>

#include <map>

#include "cmd/files/files.h"
#include "cmd/launch/launch.h"
#include "cmd/options/file_endings.h"
#include "cmd/options/hardware_profile.h"
#include "cmd/running/prediction.h"
#include "core/diagnostics/error.h"

namespace mtfc {
namespace {

// Every file that a run writes, and the option that names it.
std::vector<std::pair<std::string, std::string>> written_files(const RunFileOptions& options) {
  std::vector<std::pair<std::string, std::string>> files;
  if (!options.metrics.empty()) files.emplace_back(options.metrics, "--metrics");
  if (!options.report.empty()) files.emplace_back(options.report, "--report");
  if (!options.trace.empty()) files.emplace_back(options.trace, "--trace");
  for (const std::string& output : options.outputs) {
    const auto [name, file] = split_assignment(output, "--output");
    files.emplace_back(file, "--output " + name);
  }
  if (options.prediction) files.emplace_back(options.prediction->file, "-o");
  return files;
}

void check_endings(const RunFileOptions& options) {
  require_ending("--metrics", "a line of JSON per step", options.metrics, {"jsonl", "ndjson", "log", "txt"});
  require_ending("--report", "a report", options.report, {"json"});
  require_ending("--trace", "a timeline", options.trace, {"json"});
  for (const std::string& output : options.outputs)
    require_ending("--output", "an array", split_assignment(output, "--output").second, {"npy"});
  if (options.prediction)
    format_of_file({"-o", "a prediction", {{"csv", "csv"}, {"npy", "npy"}}}, options.prediction->file,
                   options.prediction->format);
}

void check_files(const RunFileOptions& options) {
  check_endings(options);
  if (options.tensorboard == "-")
    throw UserError("--tensorboard writes files into a folder, not to standard output",
                    "name a folder, as in --tensorboard logs/run1");
  std::map<std::string, std::string> writers;
  for (const auto& [file, option] : written_files(options)) {
    const auto [at, is_new] = writers.emplace(file, option);
    const std::string shown = file == "-" ? "standard output" : fmt::format("'{}'", file);
    if (!is_new)
      throw UserError(fmt::format("{} and {} would both write to {}", at->second, option, shown),
                      "give them files of their own");
    const bool is_array = option.starts_with("--output") ||
                          (options.prediction && option == "-o" && !is_csv(*options.prediction));
    if (file == "-" && is_array && is_terminal(1))
      throw UserError(fmt::format("{}=- would write the bytes of an array to the terminal", option),
                      "name a file, or redirect standard output");
  }
}

void check_checkpoints(const RunOptions& options) {
  const char* of_checkpoints = options.every > 0      ? "--every"
                               : options.keep > 0     ? "--keep"
                               : options.restarts > 0 ? "--restarts"
                               : options.resume       ? "--resume"
                                                      : nullptr;
  if (of_checkpoints && options.checkpoint.empty())
    throw UserError(fmt::format("{} needs --checkpoint", of_checkpoints),
                    "give the folder with --checkpoint DIR");
  if (options.evaluate && !options.checkpoint.empty())
    throw UserError("--checkpoint saves trained variables, but --evaluate trains nothing",
                    fmt::format("--load {} reads the last checkpoint", options.checkpoint));
  if (options.partly && options.loads.empty())
    throw UserError("--load-partly needs --load",
                    "it says that files of weights need not have all variables");
  if (!options.maps.empty() && options.loads.empty())
    throw UserError("--map needs --load", "it renames the tensors of a loaded file");
}

}  // namespace

void require_unread(const RunFileOptions& options, const std::vector<std::string>& read) {
  for (const auto& [file, option] : written_files(options)) require_unread(file, read);
}

void check(const RunOptions& options) {
  if (options.valid_every > 0 && options.valid.empty())
    throw UserError("--valid-every needs --valid", "give the held-out data with --valid NAME=SPEC");
  if (options.trace_steps_given && options.trace.empty())
    throw UserError("--trace-steps needs --trace", "give the file with --trace FILE.json");
  const char* of_training = !options.valid.empty()       ? "--valid"
                            : options.steps_given        ? "--steps"
                            : options.model.microbatches ? "--microbatches"
                                                         : nullptr;
  if (options.evaluate && of_training)
    throw UserError(
        fmt::format("{} is for training, but --evaluate reads the data of --input once", of_training),
        fmt::format("leave out --evaluate or {}", of_training));
  if (options.nan_ok && options.check_finite)
    throw UserError("--check-finite stops at the first NaN or infinity, but --nan-ok goes on",
                    "leave out one of them");
  require_one_reader(options.hardware, options.model.model, options.layout.layout);
  require_one_each(options.inputs, "--input", "feeds");
  require_one_each(options.valid, "--valid", "feeds");
  std::vector<std::string> single;
  for (const std::string& load : options.loads)
    if (load.find('=') != std::string::npos) single.push_back(load);
  require_one_each(single, "--load", "loads");
  check_checkpoints(options);
  check(options.exports, "--export");
  check_files(options);
}

}  // namespace mtfc
