#include "cmd/running/weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "cmd/published/placed_tensors.h"
#include "cmd/running/checkpoints.h"
#include "core/diagnostics/error.h"
#include "core/diagnostics/suggest.h"
#include "formats/data/checkpoint_notes.h"
#include "formats/data/safetensors.h"
#include "formats/json/mapped_file.h"
#include "runtime/compute/checksum.h"
#include "runtime/data/array_file.h"
#include "runtime/data/scaled_weights.h"
#include "runtime/data/stored_values.h"
#include "runtime/processes/processes.h"

namespace mtfc {
namespace {

namespace fs = std::filesystem;

// `'a', 'b', 'c' and 4 more`
std::string listed(const std::vector<std::string>& names) {
  constexpr size_t kMost = 3;
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kMost); ++i)
    text += fmt::format("{}'{}'", i == 0 ? "" : i + 1 == names.size() ? " and " : ", ", names[i]);
  return names.size() > kMost ? fmt::format("{} and {} more", text, names.size() - kMost) : text;
}

// Gives f8 matrices the scales that lie beside them, in any of the files, under a name of theirs with an ending.
void take_scales(std::vector<Safetensors>& files) {
  constexpr std::string_view kEnding = "_scale_inv";
  std::map<std::string, StoredArray> scales;
  for (Safetensors& file : files)
    std::erase_if(file.tensors, [&](const auto& tensor) {
      if (!tensor.first.ends_with(kEnding)) return false;
      scales.emplace(tensor.first.substr(0, tensor.first.size() - kEnding.size()), tensor.second);
      return true;
    });
  for (Safetensors& file : files)
    for (auto& [name, array] : file.tensors) {
      const auto found = scales.find(name);
      if (found == scales.end() || array.type != StoredType::kF8) continue;
      const auto blocks = [](int64_t size) { return (size + kScaledBlock - 1) / kScaledBlock; };
      const std::vector<int64_t>& shape = array.shape;
      if (shape.size() != 2 ||
          found->second.shape != std::vector<int64_t>{blocks(shape[0]), blocks(shape[1])})
        throw RunError(
            fmt::format("{} has the shape {}, which is not one scale for each block of {} rows and "
                        "columns of {}, which is {}",
                        found->second.file, shape_text(found->second.shape), kScaledBlock, array.file,
                        shape_text(shape)));
      array.scales = std::make_shared<const BlockScales>(BlockScales{found->second, shape[1]});
      scales.erase(found);
    }
  // Scales that belong to no f8 matrix are tensors like others.
  for (auto& [name, array] : scales)
    files.front().tensors.emplace(name + std::string(kEnding), std::move(array));
}

}  // namespace

std::vector<Safetensors> read_tensor_files(const std::string& path) {
  std::vector<Safetensors> files;
  std::string current = path;
  try {
    for (const std::string& file : safetensors_files(path)) {
      current = file;
      files.push_back(read_safetensors(file));
    }
  } catch (const UnreadableFile& error) {
    if (current != path)
      throw RunError(fmt::format("cannot read the weights in '{}', which the index '{}' names: {}", current,
                                 path, error.reason));
    throw RunError(fmt::format("cannot read the weights in '{}': {} ({})", path, error.reason,
                               error.hint.empty() ? "one variable is loaded as NAME=FILE.npy" : error.hint));
  } catch (const RunError& error) {
    throw RunError(error.what() + earlier_checkpoint_text(current));
  }
  take_scales(files);
  return files;
}

namespace {

void add_file(Safetensors& file, const NameMap& map, const VariableTypes& types, FoundTensors& found) {
  const std::vector<std::string> state = names_in_json(file.metadata[kStateKey]);
  const std::set<std::string> of_optimizer(state.begin(), state.end());
  for (const auto& [name, why] : file.unreadable)
    if (map.placed(name)) throw RunError(fmt::format("{} (--map '{}=' leaves the tensor out)", why, name));
  for (auto& [name, array] : file.tensors)
    if (const std::optional<Placement> placed = map.placed(name))
      place_tensor({std::move(array), of_optimizer.contains(name)}, *placed, types, found);
}

// `others`: the tensors for which there is no variable.
void require_complete(const std::vector<std::string>& missing, const FoundTensors& others,
                      const std::string& shown) {
  if (missing.empty()) return;
  std::vector<std::string> names;
  for (const auto& [name, tensor] : others) names.push_back(name);
  throw RunError(fmt::format(
      "{} has no values for {} of the model{} (--map FROM=TO renames tensors of the file)", shown,
      listed(missing), names.empty() ? "" : ", but has " + nearest_listed(missing.front(), names)));
}

// Refuses tensors for which there is no variable.
void refuse_others(const FoundTensors& others, const std::vector<const VariableDecl*>& variables,
                   const std::string& shown) {
  std::vector<std::string> names, known;
  for (const auto& [name, tensor] : others)
    if (!tensor.optimizer_state) names.push_back(name);
  if (names.empty()) return;
  for (const VariableDecl* const variable : variables)
    if (!variable->is_scale) known.push_back(variable->name);
  const std::string near = did_you_mean(names.front(), known);
  throw RunError(
      fmt::format("{} has {}, for which the model has no variable ({}--map '{}=' leaves a tensor out)", shown,
                  listed(names), near.empty() ? "" : near + "; ", names.front()));
}

int64_t bytes_with_checksum(const StoredArray& array) {
  int64_t bytes = array.checksum ? size_of(array.type) : 0;
  for (const int64_t size : array.shape) bytes *= size;
  return bytes;
}

}  // namespace

std::string gaps_text(const WeightGaps& gaps) {
  std::string text;
  const size_t kept = gaps.variables.size(), left = gaps.tensors.size();
  if (kept > 0)
    text = fmt::format("{} its initial values: {}",
                       kept == 1 ? "a variable keeps" : fmt::format("{} variables keep", kept),
                       listed(gaps.variables));
  if (kept > 1) text.replace(text.find(" its "), 5, " their ");
  if (left > 0)
    text +=
        fmt::format("{}{} left out: {}", kept > 0 ? "; " : "",
                    left == 1 ? "a tensor is" : fmt::format("{} tensors are", left), listed(gaps.tensors));
  return text;
}

std::string tensors_file(const std::string& path) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) return path;
  const std::string inside = path + "/" + kTensorsName;
  if (fs::exists(inside, ignored)) return inside;
  // The folder of a model from elsewhere.
  for (const char* name : {"model.safetensors.index.json", "model.safetensors"})
    if (fs::exists(path + "/" + name, ignored)) return path + "/" + name;
  const std::vector<int64_t> steps = checkpoint_steps(path);
  if (steps.empty())
    throw RunError(
        fmt::format("there is neither a checkpoint nor a model.safetensors in the folder '{}'", path));
  return checkpoint_path(path, steps.back()) + "/" + kTensorsName;
}

VariableValues read_weights(const Program& program, const std::vector<std::string>& paths, const NameMap& map,
                            WeightGaps* gaps) {
  std::vector<const VariableDecl*> variables;
  for (const ProgramVariable& variable : program.variables) variables.push_back(&variable.decl);
  return read_weights(variables, paths, map, gaps);
}

VariableValues read_weights(const std::vector<const VariableDecl*>& variables,
                            const std::vector<std::string>& paths, const NameMap& map, WeightGaps* gaps) {
  FoundTensors found;
  VariableTypes types;
  for (const VariableDecl* const variable : variables) types.emplace(variable->name, variable->type);
  std::vector<std::string> names;
  for (const std::string& path : paths)
    for (Safetensors& file : read_tensor_files(tensors_file(path))) {
      for (const auto& [name, array] : file.tensors) names.push_back(name);
      for (const auto& [name, why] : file.unreadable) names.push_back(name);
      add_file(file, map, types, found);
    }
  join_parts(found, types);
  map.require_use(names);
  const std::string shown =
      paths.size() == 1 ? fmt::format("'{}'", tensors_file(paths.front())) : "what --load names";
  VariableValues values;
  std::vector<std::string> missing, missing_state;
  bool any_state = false;
  for (size_t v = 0; v < variables.size(); ++v) {
    const VariableDecl& decl = *variables[v];
    if (decl.is_scale) continue;
    const auto at = found.find(decl.name);
    if (at == found.end()) {
      if (decl.optimizer_state)
        missing_state.push_back(decl.name);
      else
        missing.push_back(decl.name);
      continue;
    }
    any_state |= decl.optimizer_state;
    TensorType type = decl.type;
    if (!decl.scale.empty()) type.dtype = DType::kF32;
    require_loadable(at->second.array, decl.name, type);
    values.emplace_back(v, std::move(at->second.array));
    found.erase(at);
  }
  if (gaps)
    gaps->variables = missing;
  else
    require_complete(missing, found, shown);
  // A part of the optimizer's state would be worse than none of it.
  if (any_state) require_complete(missing_state, found, shown);
  if (!gaps)
    refuse_others(found, variables, shown);
  else
    for (const auto& [name, tensor] : found)
      if (!tensor.optimizer_state) gaps->tensors.push_back(name);
  return values;
}

void require_intact(Processes& processes, const VariableValues& values) {
  int64_t total = 0;
  for (const auto& [variable, array] : values) total += bytes_with_checksum(array);
  // The bytes of all arrays in a row, of which each rank sums an equal part.
  const auto cut = [&](int64_t rank) {
    return total / processes.size() * rank + total % processes.size() * rank / processes.size();
  };
  const int64_t begin = cut(processes.rank()), end = cut(processes.rank() + 1);
  std::vector<int64_t> sums;
  int64_t first = 0;
  for (const auto& [variable, array] : values) {
    const int64_t size = size_of(array.type), bytes = bytes_with_checksum(array);
    const int64_t from = std::clamp<int64_t>(begin - first, 0, bytes) / size,
                  to = std::clamp<int64_t>(end - first, 0, bytes) / size;
    sums.push_back(static_cast<int64_t>(checksum(array.data + from * size, size, to - from, from)));
    first += bytes;
  }
  processes.sum(sums);
  for (size_t i = 0; i < values.size(); ++i)
    if (const StoredArray& array = values[i].second;
        array.checksum && *array.checksum != static_cast<uint64_t>(sums[i]))
      throw AgreedError(fmt::format("{} is damaged: its contents differ from its checksum{}", array.file,
                                    earlier_checkpoint_text(array.sample.path)));
}

void fill_variables(Executor& executor, const VariableValues& values) {
  const std::vector<ProgramVariable>& variables = executor.program().variables;
  for (const auto& [v, array] : values) {
    const VariableDecl& decl = variables[v].decl;
    const ProgramVariable* scale = find_named(variables, decl.scale);
    for (size_t device = 0; device < executor.devices(); ++device) {
      const LocalShard shard = executor.variable(v, device);
      if (!scale)
        load_array(array, decl.name, shard);
      else
        load_scaled(array, decl.name, shard,
                    executor.variable(static_cast<size_t>(scale - variables.data()), device));
    }
  }
}

}  // namespace mtfc
