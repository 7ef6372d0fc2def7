#include "cmd/running/run_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "cmd/files/family_files.h"
#include "cmd/running/stored_settings.h"
#include "cmd/running/token_warnings.h"
#include "core/diagnostics/suggest.h"
#include "formats/data/npy.h"
#include "formats/json/mapped_file.h"
#include "runtime/data/array_file.h"

namespace mtfc {
namespace {

size_t variable_named(const Program& program, const std::string& name) {
  std::vector<std::string> known;
  for (size_t i = 0; i < program.variables.size(); ++i) {
    const VariableDecl& decl = program.variables[i].decl;
    if (decl.is_scale) continue;
    if (decl.name == name) return i;
    known.push_back(decl.name);
  }
  throw UserError(fmt::format("--load: the model has no variable '{}'", name), did_you_mean(name, known));
}

// Returns whether the value of --load names one variable, as in NAME=FILE.npy, rather than a file of many.
bool names_variable(const std::string& load) {
  std::error_code ignored;
  return load.find('=') != std::string::npos && !std::filesystem::exists(load, ignored);
}

// Returns whether a dimension of other size has another one in the model because of a setting.
bool is_set_otherwise(const OtherSize& size, const std::map<std::string, double>& stored) {
  const auto at = stored.find(size.dim.name);
  return at != stored.end() && at->second == static_cast<double>(size.in_file);
}

// Says of an array of other sizes which they are, and the --set that give them to the model; how to transpose an array
// only where the settings of the checkpoint, `stored`, do not tell that its sizes are others.
std::string shape_error(const ShapeMismatch& error, const Program& program, const StoredSettings* stored) {
  const std::vector<OtherSize>& sizes = error.sizes;
  const bool is_explained =
      stored && !sizes.empty() && std::all_of(sizes.begin(), sizes.end(), [&](const OtherSize& size) {
        return is_set_otherwise(size, stored->notes.names);
      });
  const std::string differences = stored ? differences_text(stored->notes.names, program.names) : "";
  if (sizes.empty() || (!error.transposed.empty() && !is_explained)) return error.what() + differences;
  std::string sets;
  for (const auto& [dim, in_file] : sizes) {
    if (!program.names.contains(dim.name)) return error.what() + differences;
    const std::string set = fmt::format(" --set {}={}", dim.name, in_file);
    if (sets.find(set + " ") == std::string::npos && !sets.ends_with(set)) sets += set;
  }
  return fmt::format("{} ({}:{}){}", error.problem, sizes_text(sizes), sets, is_explained ? "" : differences);
}

// An error also says which settings differ from those that the checkpoint was made with.
VariableValues read_files(const Program& program, const std::vector<std::string>& files,
                          const WeightOptions& options, WeightGaps& gaps) {
  try {
    NameMap map(options.maps);
    map.add_of_model(program.weights);
    return read_weights(program, files, map, options.partly ? &gaps : nullptr);
  } catch (const ShapeMismatch& error) {
    const std::optional<StoredSettings> stored = stored_settings(files);
    throw RunError(shape_error(error, program, stored ? &*stored : nullptr));
  } catch (const RunError& error) {
    const std::optional<StoredSettings> stored = stored_settings(files);
    const std::string differences = stored ? differences_text(stored->notes.names, program.names) : "";
    if (differences.empty()) throw;
    throw RunError(error.what() + differences);
  }
}

// Reads values for one variable each, which take precedence over those in files of many.
void load_arrays(const Program& program, const std::vector<std::string>& loads, VariableValues& values) {
  for (const std::string& text : loads) {
    if (!names_variable(text)) continue;
    const auto [name, file] = split_assignment(text, "--load");
    const size_t variable = variable_named(program, name);
    std::erase_if(values, [&](const auto& value) { return value.first == variable; });
    try {
      values.emplace_back(variable, read_npy(file));
    } catch (const UnreadableFile& error) {
      throw RunError(fmt::format("cannot read the values of '{}' from '{}': {}", name, file, error.text()));
    }
  }
}

}  // namespace

const EntryPoint& main_entry(const Program& program, bool evaluate) {
  const EntryPoint* train = program.find("train");
  return evaluate || !train ? *program.find("evaluate") : *train;
}

VariableValues read_loads(const Program& program, const WeightOptions& options, WeightGaps& gaps) {
  VariableValues values;
  std::vector<std::string> files;
  for (const std::string& load : options.loads)
    if (!names_variable(load)) files.push_back(load);
  if (!files.empty()) values = read_files(program, files, options, gaps);
  load_arrays(program, options.loads, values);
  std::vector<bool> set;
  for (const ProgramVariable& variable : program.variables)
    set.push_back(variable.decl.init.has_value() || variable.decl.is_scale);
  for (const auto& [variable, array] : values) set[variable] = true;
  for (size_t v = 0; v < set.size(); ++v)
    if (!set[v])
      throw UserError(
          fmt::format("the variable '{}' has no \"init\" and is not loaded", program.variables[v].decl.name),
          fmt::format("give its values with --load {}=FILE.npy", program.variables[v].decl.name));
  return values;
}

RunData open_data(const Program& program, const RunOptions& options, const std::string& checkpoint) {
  RunData data;
  data.seed = options.seed;
  const EntryPoint& entry = main_entry(program, options.evaluate);
  TextTokens texts(options.tokenizer.value_or(tokenizer_of_model(options.model.model)));
  data.inputs =
      read_inputs(program, {options.inputs, "--input"}, {}, texts, options.prediction ? &entry : nullptr);
  data.filled = texts.filled();
  if (!options.valid.empty())
    data.valid = read_inputs(program, {options.valid, "--valid"}, data.inputs, texts);
  require_data(entry, data.inputs);
  require_vocabulary(entry, data.inputs);
  require_vocabulary(entry, data.valid);
  if (!checkpoint.empty()) {
    Continuation last = read_checkpoint(program, checkpoint);
    if (options.seed_given && options.seed != last.notes.seed)
      throw UserError(fmt::format("--seed {} differs from the seed of '{}', which is {}", options.seed,
                                  checkpoint, last.notes.seed),
                      "leave out --seed to continue with the same seed");
    data.seed = last.notes.seed;
    data.values = std::move(last.values);
    data.start = last.notes;
    data.checkpoint = checkpoint;
    return data;
  }
  data.values = read_loads(program, options, data.gaps);
  return data;
}

}  // namespace mtfc
