#include "cmd/running/run_preparation.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iostream>
#include <set>

#include "cmd/options/hardware_profile.h"
#include "cmd/options/layout_warnings.h"
#include "cmd/options/memory_limit.h"
#include "cmd/options/reshard_limit.h"
#include "cmd/running/checkpoints.h"
#include "cmd/running/input_data.h"
#include "cmd/running/prediction.h"
#include "cmd/running/run_data.h"
#include "cmd/running/run_files.h"
#include "core/cost/cost.h"
#include "core/model/cross_entropy.h"
#include "core/model/entry_points.h"
#include "formats/hardware/hardware_reader.h"

namespace mtfc {
namespace {

// Returns a saved program unchanged, or compiles a model for the layout; `sees` is called with the whole model.
Program program_of(const Sources& sources, const RunOptions& options, const Hardware* hardware,
                   const std::function<void(const Model&)>& sees, std::vector<Diagnostic>& warnings) {
  CompileOptions compile_options = compile_options_of(options.model);
  compile_options.hardware = hardware;
  for (const std::string& output : options.outputs)
    compile_options.keep.push_back(split_assignment(output, "--output").first);
  if (options.prediction) compile_options.keep = options.prediction->tensors;
  const auto within_limit = [&](const Model& whole, const Layout& layout) {
    sees(whole);
    Model model = reduced_to(whole, options.evaluate ? "evaluate" : "");
    if (options.prediction) model = for_prediction(std::move(model), *options.prediction);
    FittedProgram fitted = compile_within(model, layout, compile_options, options.memory_limit, hardware);
    require_fits(fitted, options.memory_limit);
    for (Diagnostic& note : limit_notes(fitted, options.memory_limit)) warnings.push_back(std::move(note));
    return std::move(fitted.program);
  };
  Program program = make_program(sources, options.model, compile_options, warnings, within_limit);
  if (options.evaluate)
    std::erase_if(program.entry_points, [](const EntryPoint& entry) { return entry.name == "train"; });
  require_fits(program, options.memory_limit);
  require_small_reshards(program, options.reshard_limit);
  return program;
}

// Throws UserError if a profile lacks something that the program needs.
void check_hardware(const RunOptions& options, const Program& program, const Hardware& hardware) {
  const EntryPoint& entry = main_entry(program, options.evaluate);
  predicted_time(program, entry, predicted_counts(program, entry), hardware);
}

// An evaluation of values that nobody has trained is rarely meant.
void warn_of_initial_values(const RunOptions& options, const Program& program) {
  const bool has_weights =
      std::any_of(program.variables.begin(), program.variables.end(),
                  [](const ProgramVariable& variable) { return variable.decl.trainable; });
  if (options.evaluate && options.loads.empty() && has_weights && !options.model.quiet)
    std::cerr << fmt::format(
        "mtfc: warning: there is no --load, so the variables have their initial values for --seed {}\n",
        options.seed);
}

}  // namespace

bool RunPreparation::continues() const {
  return options_.resume && stored_ && stored_->checkpoint.starts_with(options_.checkpoint + "/");
}

Defaults RunPreparation::defaults() {
  std::vector<std::string> paths = options_.loads;
  if (options_.resume) paths.insert(paths.begin(), options_.checkpoint);
  stored_ = stored_settings(paths);
  if (!stored_) return {};
  // Weights that are only loaded have no precision of their own: a run that begins may choose another.
  return {stored_->notes.sets, continues() ? stored_->notes.dtype : std::nullopt};
}

Program RunPreparation::compile(const Sources& sources, std::vector<Diagnostic>& warnings) {
  sets_ = all_settings(sources.defaults.sets, options_.model.sets);
  dtype_ = dtype_of(sources, options_.model);
  if (!options_.hardware.empty()) hardware_ = read_hardware(sources.hardware_text, options_.hardware);
  const bool exports = !options_.exports.target.empty();
  const auto sees = [&](const Model& model) {
    loss_ = {mean_cross_entropy(model), model.decode.has_value()};
    if (!exports) return;
    ExportOptions own = options_.exports;
    own.tokenizer = options_.tokenizer.value_or("");
    export_.emplace(own, exported_model(sources, options_.model, model), std::vector<std::string>{});
  };
  Program program = program_of(sources, options_, hardware(), sees, warnings);
  if (exports && !export_ && sources.program_text.empty())
    throw UserError("--export needs the model, and a compiled program does not know its published form",
                    "give the model file, or save a checkpoint and use mtfc export");
  for (Diagnostic& idle : idle_warnings(program, main_entry(program, options_.evaluate)))
    warnings.push_back(std::move(idle));
  if (hardware_)
    if (const auto warning = unmeasured_links_warning(*hardware_, program.mesh()))
      warnings.push_back(*warning);
  return program;
}

void RunPreparation::require_ready(const Program& program) {
  if (options_.prediction) require_predictable(*program.find("evaluate"), *options_.prediction);
  require_writable_files(options_);
  require_metrics(options_, program);
  if (hardware_) check_hardware(options_, program, *hardware_);
  warn_of_initial_values(options_, program);
  if (options_.model.quiet) return;
  std::set<std::string> folders(options_.loads.begin(), options_.loads.end());
  if (!options_.checkpoint.empty()) folders.insert(options_.checkpoint);
  for (const std::string& path : folders) warn_of_incomplete(path);
  if (stored_) tell_settings(*stored_, options_.model, program, continues());
}

}  // namespace mtfc
