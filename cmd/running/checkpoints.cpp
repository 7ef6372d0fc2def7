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
#include <map>
#include <thread>

#include "cmd/running/stored_settings.h"
#include "core/diagnostics/error.h"
#include "formats/data/safetensors.h"
#include "formats/json/mapped_file.h"
#include "runtime/data/array_file.h"
#include "runtime/data/checkpoint.h"
#include "runtime/data/output_file.h"

namespace mtfc {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPrefix = "step_";
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

}  // namespace

std::string checkpoint_path(const std::string& folder, int64_t step) {
  return fmt::format("{}/{}{:08}", folder, kPrefix, step);
}

std::vector<int64_t> checkpoint_steps(const std::string& folder) {
  std::vector<int64_t> steps;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    if (const std::optional<int64_t> step = step_of(at->path().filename().string());
        step && checkpoint_path(folder, *step) == folder + "/" + at->path().filename().string())
      steps.push_back(*step);
  std::sort(steps.begin(), steps.end());
  return steps;
}

CheckpointFolder::CheckpointFolder(const std::string& path) : path_(path) {
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

std::string CheckpointFolder::start(bool resume) const {
  const std::vector<int64_t> steps = checkpoint_steps(path_);
  if (steps.empty()) return "";
  const std::string last = checkpoint_path(path_, steps.back());
  if (!resume)
    throw UserError(fmt::format("--checkpoint: there are checkpoints in '{}' already, the last of step {}",
                                path_, steps.back()),
                    "--resume continues from it; another run needs a folder of its own");
  return last;
}

void save_checkpoint(Executor& executor, const std::string& folder, const CheckpointNotes& notes,
                     int64_t keep) {
  const Program& program = executor.program();
  std::vector<TensorPlace> tensors;
  std::vector<std::string> state;
  std::map<std::string, size_t> positions;
  for (size_t v = 0; v < program.variables.size(); ++v) {
    const VariableDecl& decl = program.variables[v].decl;
    tensors.push_back({decl.name, decl.type});
    positions[decl.name] = v;
    if (decl.optimizer_state) state.push_back(decl.name);
  }
  SafetensorsPlan plan = plan_safetensors(
      std::move(tensors),
      {{"format", "mtfc"}, {"step", fmt::format("{}", notes.step)}, {kStateKey, names_json(state)}});
  NewCheckpoint checkpoint{checkpoint_path(folder, notes.step),
                           kTensorsName,
                           std::move(plan.header),
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
  write_checkpoint(executor.comm(), checkpoint);
  if (keep == 0) return;
  std::string error;
  if (executor.comm().processes().speaks()) {
    const std::vector<int64_t> steps = checkpoint_steps(folder);
    for (size_t i = 0; i + static_cast<size_t>(keep) < steps.size() && error.empty(); ++i)
      if (const std::string old = checkpoint_path(folder, steps[i]); !remove_checkpoint(old))
        error = fmt::format("cannot remove the checkpoint '{}': {}", old, std::strerror(errno));
  }
  executor.comm().processes().require_success(error);
}

Continuation read_checkpoint(const Program& program, const std::string& path) {
  Continuation found;
  Safetensors file;
  try {
    found.notes = read_checkpoint_notes(path + "/" + kNotesName);
    file = read_safetensors(path + "/" + kTensorsName);
  } catch (const UnreadableFile& error) {
    throw RunError(fmt::format("cannot read the checkpoint: {}", error.what()));
  }
  if (step_of(fs::path(path).filename().string()) != found.notes.step)
    throw RunError(fmt::format("the checkpoint '{}' was saved at step {}, which is not the step in its name",
                               path, found.notes.step));
  const std::string whose = found.notes.model == program.model
                                ? " (the run can continue only with the model that it began with)"
                                : fmt::format(" (the checkpoint is of the model '{}', not of '{}')",
                                              found.notes.model, program.model);
  const std::string settings = differences_text(found.notes.names, program.names);
  for (size_t v = 0; v < program.variables.size(); ++v) {
    const VariableDecl& decl = program.variables[v].decl;
    const auto at = file.tensors.find(decl.name);
    if (at == file.tensors.end())
      throw RunError(fmt::format("the checkpoint '{}' lacks the model's variable '{}'{}", path, decl.name,
                                 whose + settings));
    require_same(at->second, decl, whose + settings);
    found.values.emplace_back(v, std::move(at->second));
    file.tensors.erase(at);
  }
  if (!file.tensors.empty())
    throw RunError(fmt::format("the checkpoint '{}' has a variable '{}' that the model lacks{}", path,
                               file.tensors.begin()->first, whose + settings));
  return found;
}

}  // namespace mtfc
