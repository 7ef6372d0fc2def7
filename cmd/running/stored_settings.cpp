#include "cmd/running/stored_settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <iostream>

#include "cmd/running/checkpoints.h"

namespace mtfc {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostTold = 5;

std::string name_in(const std::string& setting) {
  return setting.substr(0, setting.find('='));
}

bool is_set(const std::vector<std::string>& settings, const std::string& name) {
  return std::any_of(settings.begin(), settings.end(),
                     [&](const std::string& setting) { return name_in(setting) == name; });
}

// The folder of the checkpoint that `path` means, or "".
std::string checkpoint_folder(const std::string& path) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) {
    const fs::path folder = fs::path(path).parent_path();
    return fs::path(path).filename() == kTensorsName ? (folder.empty() ? "." : folder.string()) : "";
  }
  if (fs::exists(path + "/" + kTensorsName, ignored)) return path;
  const std::vector<int64_t> steps = checkpoint_steps(path);
  return steps.empty() ? "" : checkpoint_path(path, steps.back());
}

bool has_dim(const std::vector<EntryPoint>& entries, const std::string& name, bool is_input) {
  const auto has = [&](const TensorType& type) { return contains(type.dims, name); };
  return std::any_of(entries.begin(), entries.end(), [&](const EntryPoint& entry) {
    if (!is_input)
      return std::any_of(entry.values.begin(), entry.values.end(),
                         [&](const Value& value) { return has(value.type); });
    return std::any_of(entry.inputs.begin(), entry.inputs.end(),
                       [&](const Binding& input) { return has(entry.values[input.value].type); });
  });
}

// Returns true if neither inputs nor variables have the dimension. Stored weights then fit whatever its size is, as
// packed weights fit any number of heads.
bool is_inner_dim(const Program& program, const std::string& name) {
  return has_dim(program.entry_points, name, false) && !has_dim(program.entry_points, name, true) &&
         std::none_of(
             program.variables.begin(), program.variables.end(),
             [&](const ProgramVariable& variable) { return contains(variable.decl.type.dims, name); });
}

}  // namespace

std::optional<StoredSettings> stored_settings(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    std::error_code ignored;
    const std::string folder = checkpoint_folder(path);
    if (!folder.empty() && fs::exists(folder + "/" + kNotesName, ignored))
      return StoredSettings{folder, notes_of(folder)};
  }
  return std::nullopt;
}

std::vector<std::string> all_settings(const std::vector<std::string>& stored,
                                      const std::vector<std::string>& given) {
  std::vector<std::string> all;
  for (const std::string& setting : stored)
    if (!is_set(given, name_in(setting))) all.push_back(setting);
  all.insert(all.end(), given.begin(), given.end());
  return all;
}

void tell_settings(const StoredSettings& stored, const ModelOptions& options, const Program& program,
                   bool continues) {
  const auto& [checkpoint, notes] = stored;
  const std::vector<std::string>& given = options.sets;
  std::vector<std::string> taken;
  if (continues && notes.dtype && !options.dtype) taken.push_back("--dtype " + *notes.dtype);
  for (const std::string& setting : notes.sets)
    if (!is_set(given, name_in(setting)) && program.names.contains(name_in(setting)))
      taken.push_back("--set " + setting);
  if (!taken.empty()) std::cerr << fmt::format("settings of '{}': {}\n", checkpoint, fmt::join(taken, " "));
  if (continues && notes.dtype && options.dtype && options.dtype != notes.dtype)
    std::cerr << fmt::format("mtfc: warning: --dtype is {}, but '{}' was made with --dtype {}\n",
                             *options.dtype, checkpoint, *notes.dtype);
  for (const auto& [name, before] : notes.names) {
    const auto now = program.names.find(name);
    if (now == program.names.end() || now->second == before) continue;
    const bool matters = continues || is_inner_dim(program, name);
    if (is_set(given, name) && (matters || is_set(notes.sets, name)))
      std::cerr << fmt::format("mtfc: warning: --set gives {}={}, but '{}' was made with {}={}\n", name,
                               now->second, checkpoint, name, before);
    else if (matters && !is_set(given, name))
      std::cerr << fmt::format("mtfc: warning: the model gives {}={}, but '{}' was made with {}={}\n", name,
                               now->second, checkpoint, name, before);
  }
}

std::string differences_text(const std::map<std::string, double>& stored,
                             const std::map<std::string, double>& now) {
  std::vector<std::string> told;
  size_t count = 0;
  for (const auto& [name, before] : stored) {
    const auto at = now.find(name);
    if (at == now.end() || at->second == before) continue;
    if (++count <= kMostTold)
      told.push_back(fmt::format("{}={}, and now it is {}", name, before, at->second));
  }
  if (told.empty()) return "";
  return fmt::format(" (the checkpoint was made with {}{})", fmt::join(told, "; "),
                     count > told.size() ? fmt::format("; and {} more differ", count - told.size()) : "");
}

}  // namespace mtfc
