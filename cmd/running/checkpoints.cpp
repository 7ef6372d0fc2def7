#include "cmd/running/checkpoints.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <map>
#include <set>
#include <thread>

#include "cmd/running/stored_settings.h"
#include "core/diagnostics/error.h"
#include "formats/data/safetensors.h"
#include "formats/json/mapped_file.h"
#include "runtime/data/array_file.h"
#include "runtime/data/checkpoint.h"
#include "runtime/data/new_folder.h"
#include "runtime/data/output_file.h"
#include "runtime/data/stored_values.h"

namespace mtfc {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPrefix = "step_";
// Ends the name to which a folder is moved that is in a checkpoint's place but is none.
constexpr const char* kIncomplete = ".incomplete";
// The ranks of a killed run may outlive it by this long.
constexpr std::chrono::seconds kLockPatience{10};

[[noreturn]] void fail(const std::string& folder, int reason) {
  throw RunError(fmt::format("cannot write checkpoints to '{}': {}", folder, std::strerror(reason)));
}

std::optional<int64_t> step_of(const std::string& name) {
  const std::string prefix = kPrefix;
  if (!name.starts_with(prefix)) return std::nullopt;
  int64_t step = 0;
  const char* end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(name.data() + prefix.size(), end, step);
  if (error != std::errc() || stop != end || step < 0) return std::nullopt;
  return step;
}

// Throws unless the tensor has the shape and type of the variable.
void require_same(const StoredArray& array, const VariableDecl& variable, const std::string& whose) {
  std::vector<int64_t> shape;
  for (const Dim& dim : variable.type.dims) shape.push_back(dim.size);
  if (array.shape == shape && to_string(array.type) == to_string(variable.type.dtype)) return;
  throw RunError(fmt::format("{} is {}[{}], but the model's '{}' is {}{}", array.file, to_string(array.type),
                             fmt::join(array.shape, ", "), variable.name, to_string(variable.type), whose));
}

// Returns the name of a file that the folder of a checkpoint lacks, or "".
std::string missing_file(const std::string& checkpoint) {
  for (const char* name : {kTensorsName, kNotesName}) {
    std::error_code ignored;
    if (fs::status(checkpoint + "/" + name, ignored).type() == fs::file_type::not_found) return name;
  }
  return "";
}

// The steps of all folders with the name of a checkpoint, ascending. Throws RunError if `folder` can't be read.
std::vector<int64_t> named_steps(const std::string& folder) {
  std::vector<int64_t> steps;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    if (const std::optional<int64_t> step = step_of(at->path().filename().string());
        step && checkpoint_path(folder, *step) == folder + "/" + at->path().filename().string())
      steps.push_back(*step);
  if (error && error != std::errc::no_such_file_or_directory && error != std::errc::not_a_directory)
    throw RunError(fmt::format("cannot read the folder '{}': {}", folder, error.message()));
  std::sort(steps.begin(), steps.end());
  return steps;
}

// Makes room for a checkpoint where a folder lies that lacks a file. Returns the error, or "".
std::string move_incomplete_away(const std::string& checkpoint) {
  std::error_code ignored;
  if (!fs::exists(checkpoint, ignored) || missing_file(checkpoint).empty()) return "";
  const std::string away = checkpoint + kIncomplete;
  if (std::rename(checkpoint.c_str(), away.c_str()) == 0) return "";
  return fmt::format("cannot rename '{}' to '{}': {}", checkpoint, away, std::strerror(errno));
}

// Removes all checkpoints but the last `keep`. Returns the error, or "".
std::string remove_older(const std::string& folder, int64_t keep) {
  const std::vector<int64_t> steps = checkpoint_steps(folder);
  for (size_t i = 0; i + static_cast<size_t>(keep) < steps.size(); ++i)
    if (const std::string old = checkpoint_path(folder, steps[i]); !remove_checkpoint(old))
      return fmt::format("cannot remove the checkpoint '{}': {}", old, std::strerror(errno));
  return "";
}

// Refuses a checkpoint in the place of the folder that holds it: a run would begin anew in it.
void refuse_checkpoint(const std::string& path) {
  std::string above = (fs::path(path) / "." / "..").lexically_normal().string();
  if (above.size() > 1 && above.ends_with('/')) above.pop_back();
  const std::string name = fs::path(path + "/").parent_path().filename().string();
  std::error_code ignored;
  const bool exists = fs::is_directory(path, ignored) && missing_file(path).empty();
  if (!exists && !(step_of(name) && !checkpoint_steps(above).empty())) return;
  throw UserError(fmt::format("--checkpoint takes a folder of checkpoints, but '{}' is {}", path,
                              exists ? "a checkpoint itself" : "the place of a checkpoint"),
                  fmt::format("name the folder that holds it: --checkpoint {}", above));
}

// Plans the file of a program's variables with these checksums.
SafetensorsPlan plan_of(const Program& program, int64_t step,
                        const std::map<std::string, uint64_t>& checksums) {
  std::vector<TensorPlace> tensors;
  std::vector<std::string> state;
  for (const ProgramVariable& variable : program.variables) {
    const TensorType& type = variable.decl.type;
    tensors.push_back({variable.decl.name, stored_type(type.dtype), shape_of(type.dims)});
    if (variable.decl.optimizer_state) state.push_back(variable.decl.name);
  }
  return plan_safetensors(std::move(tensors), {{"format", "mtfc"},
                                               {"step", fmt::format("{}", step)},
                                               {kStateKey, names_json(state)},
                                               {kChecksumsKey, checksums_json(checksums)}});
}

// The error that a file of a checkpoint can't be read.
RunError unreadable(const UnreadableFile& error, const std::string& file) {
  return RunError(
      fmt::format("cannot read the checkpoint: {}{}", error.what(), earlier_checkpoint_text(file)));
}

// True if the file has the variables of the model, but the state of another optimizer.
bool is_of_other_optimizer(const Program& program, const Safetensors& file) {
  const auto noted = file.metadata.find(kStateKey);
  if (noted == file.metadata.end()) return false;
  const std::vector<std::string> names = names_in_json(noted->second);
  const std::set<std::string> state(names.begin(), names.end());
  std::set<std::string> stored, own, own_state;
  for (const auto& [name, array] : file.tensors)
    if (!state.contains(name)) stored.insert(name);
  for (const ProgramVariable& variable : program.variables)
    (variable.decl.optimizer_state ? own_state : own).insert(variable.decl.name);
  return stored == own && state != own_state;
}

}  // namespace

std::string checkpoint_path(const std::string& folder, int64_t step) {
  return fmt::format("{}/{}{:08}", folder, kPrefix, step);
}

std::vector<int64_t> checkpoint_steps(const std::string& folder) {
  std::vector<int64_t> steps = named_steps(folder);
  std::erase_if(steps, [&](int64_t step) { return !missing_file(checkpoint_path(folder, step)).empty(); });
  return steps;
}

void warn_of_incomplete(const std::string& folder) {
  for (const int64_t step : named_steps(folder)) {
    const std::string path = checkpoint_path(folder, step);
    if (const std::string missing = missing_file(path); !missing.empty())
      std::cerr << fmt::format("mtfc: warning: '{}' lacks the file {}, so it is not a checkpoint\n", path,
                               missing);
  }
}

std::string earlier_checkpoint_text(const std::string& path) {
  const fs::path checkpoint = fs::path(path).parent_path();
  const std::optional<int64_t> step = step_of(checkpoint.filename().string());
  if (!step) return "";
  const std::string folder =
      checkpoint.has_parent_path() ? checkpoint.parent_path().string() : std::string(".");
  std::vector<int64_t> steps = checkpoint_steps(folder);
  std::erase_if(steps, [&](int64_t other) { return other >= *step; });
  if (steps.empty()) return "";
  return fmt::format(" (remove or rename '{}' to continue from '{}')", checkpoint.string(),
                     checkpoint_path(folder, steps.back()));
}

CheckpointNotes notes_of(const std::string& checkpoint) {
  const std::string file = checkpoint + "/" + kNotesName;
  try {
    return read_checkpoint_notes(file);
  } catch (const UnreadableFile& error) {
    throw unreadable(error, file);
  } catch (const RunError& error) {
    throw RunError(error.what() + earlier_checkpoint_text(file));
  }
}

std::string checkpoint_start(const std::string& folder, bool resume) {
  refuse_checkpoint(folder);
  const std::vector<int64_t> steps = checkpoint_steps(folder);
  if (steps.empty()) return "";
  const std::string last = checkpoint_path(folder, steps.back());
  if (!resume)
    throw UserError(fmt::format("--checkpoint: there are checkpoints in '{}' already, the last of step {}",
                                folder, steps.back()),
                    "--resume continues from it; another run needs a folder of its own");
  return last;
}

CheckpointFolder::CheckpointFolder(const std::string& path) {
  refuse_checkpoint(path);
  std::error_code error;
  const bool is_new = fs::create_directories(path, error);
  if (error) fail(path, error.value());
  if (is_new) sync_folder(fs::absolute(path).lexically_normal().parent_path().string());
  descriptor_ = UniqueFd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!descriptor_) fail(path, errno);
  const auto begin = std::chrono::steady_clock::now();
  while (flock(descriptor_.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) break;  // the file system has no locks
    if (std::chrono::steady_clock::now() - begin > kLockPatience)
      throw RunError(fmt::format("another run is writing its checkpoints to '{}'", path));
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  try {
    if (access(path.c_str(), W_OK | X_OK) != 0) fail(path, errno);
    std::vector<fs::path> unfinished;
    for (const auto& entry : fs::directory_iterator(path)) {
      const std::string name = entry.path().filename().string();
      if (name.ends_with(kUnfinished) && step_of(name.substr(0, name.size() - std::strlen(kUnfinished))))
        unfinished.push_back(entry.path());
    }
    for (const fs::path& left : unfinished) fs::remove_all(left);
  } catch (const fs::filesystem_error& failed) {
    fail(path, failed.code().value());
  }
}

void save_checkpoint(Executor& executor, const std::string& folder, const CheckpointNotes& notes,
                     int64_t keep) {
  const Program& program = executor.program();
  std::map<std::string, size_t> positions;
  std::map<std::string, uint64_t> checksums;
  for (size_t v = 0; v < program.variables.size(); ++v) {
    positions[program.variables[v].decl.name] = v;
    checksums[program.variables[v].decl.name] = 0;
  }
  const SafetensorsPlan plan = plan_of(program, notes.step, checksums);
  NewCheckpoint checkpoint{checkpoint_path(folder, notes.step),
                           kTensorsName,
                           [&](const std::vector<uint64_t>& sums) {
                             for (size_t i = 0; i < sums.size(); ++i)
                               checksums[plan.places[i].name] = sums[i];
                             return plan_of(program, notes.step, checksums).header;
                           },
                           plan.file_bytes,
                           {},
                           kNotesName,
                           checkpoint_json(notes)};
  for (const TensorPlace& place : plan.places) {
    const size_t v = positions.at(place.name);
    SavedTensor saved{place.offset, program.variables[v].sharding, {}};
    for (size_t device = 0; device < executor.devices(); ++device)
      saved.shards.push_back(executor.variable(v, device));
    checkpoint.tensors.push_back(std::move(saved));
  }
  Processes& processes = executor.comm().processes();
  processes.require_success(processes.is_root() ? move_incomplete_away(checkpoint.folder) : "");
  write_checkpoint(executor.comm(), checkpoint);
  if (keep > 0) processes.require_success(processes.is_root() ? remove_older(folder, keep) : "");
}

Continuation read_checkpoint(const Program& program, const std::string& path) {
  const std::string tensors = path + "/" + kTensorsName;
  Continuation found{notes_of(path), {}};
  Safetensors file;
  try {
    file = read_safetensors(tensors);
    if (!file.unreadable.empty()) throw RunError(file.unreadable.begin()->second);
  } catch (const UnreadableFile& error) {
    throw unreadable(error, tensors);
  } catch (const RunError& error) {
    throw RunError(error.what() + earlier_checkpoint_text(tensors));
  }
  if (step_of(fs::path(path).filename().string()) != found.notes.step)
    throw RunError(
        fmt::format("the checkpoint '{}' was saved at step {}, which is not the step in its name{}", path,
                    found.notes.step, earlier_checkpoint_text(tensors)));
  const std::string whose = found.notes.model == program.model
                                ? " (the run can continue only with the model that it began with)"
                                : fmt::format(" (the checkpoint is of the model '{}', not of '{}')",
                                              found.notes.model, program.model);
  const std::string settings = differences_text(found.notes.names, program.names);
  const std::string others =
      is_of_other_optimizer(program, file)
          ? fmt::format(
                " (its optimizer is another one: --resume needs the same --optimizer; --load {} with another "
                "one begins a run from its weights)",
                path)
          : whose + settings;
  for (size_t v = 0; v < program.variables.size(); ++v) {
    const VariableDecl& decl = program.variables[v].decl;
    const auto at = file.tensors.find(decl.name);
    if (at == file.tensors.end())
      throw RunError(
          fmt::format("the checkpoint '{}' lacks the model's variable '{}'{}", path, decl.name, others));
    require_same(at->second, decl, whose + settings);
    found.values.emplace_back(v, std::move(at->second));
    file.tensors.erase(at);
  }
  if (!file.tensors.empty())
    throw RunError(fmt::format("the checkpoint '{}' has a variable '{}' that the model lacks{}", path,
                               file.tensors.begin()->first, others));
  return found;
}

}  // namespace mtfc
