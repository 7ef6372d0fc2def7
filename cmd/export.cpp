#include "cmd/published/export.h"

#include <fmt/format.h>

#include <iostream>
#include <memory>

#include "cmd/command.h"
#include "cmd/files/family_files.h"
#include "cmd/launch/launch.h"
#include "cmd/options/command_line.h"
#include "cmd/options/model_options.h"
#include "cmd/running/stored_settings.h"
#include "cmd/running/weights.h"
#include "cmd/terminal/work_watch.h"
#include "core/diagnostics/error.h"
#include "runtime/processes/processes.h"

namespace mtfc {
namespace {

struct Options {
  ModelOptions model;
  std::vector<std::string> loads, maps;
  ExportOptions exports;
};

// The values of the files, which are mapped and not held in memory. Throws RunError for a damaged checkpoint.
VariableReader reader_of(const ExportedModel& model, const Options& options) {
  NameMap map(options.maps);
  map.add_of_model(model.form.rules);
  std::vector<const VariableDecl*> variables;
  for (const VariableDecl& variable : model.variables) variables.push_back(&variable);
  VariableValues found = read_weights(variables, options.loads, map);
  Processes processes = Processes::alone();
  require_intact(processes, found);
  std::map<std::string, StoredArray> values;
  for (auto& [v, array] : found) values.emplace(variables[v]->name, std::move(array));
  return [values = std::move(values)](const std::string& variable) { return values.at(variable); };
}

int run(Options options) {
  check(options.exports, "-o");
  const WorkWatch watch(std::cerr, status_place(options.model.quiet));
  Sources sources = read_sources(options.model, LayoutFlags{});
  if (options.loads.empty()) options.loads.push_back(published_folder(options.model.model));
  if (options.loads.front().empty())
    throw UserError("no weights are given",
                    "give a checkpoint or a file with --load, or the folder of a published model as MODEL");
  if (const auto stored = stored_settings(options.loads)) sources.defaults.sets = stored->notes.sets;
  std::vector<Diagnostic> warnings;
  const Model model = read_model_and_layouts({&sources, 1}, options.model, warnings).model;
  show(warnings, options.model.quiet);
  const ExportedModel exported = exported_model(sources, options.model, model);
  const Export plan(options.exports, exported, {});
  plan.write(reader_of(exported, options));
  WorkWatch::make_way();
  if (!options.model.quiet) std::cerr << fmt::format("{}: {}\n", options.exports.target, plan.summary());
  return kExitSuccess;
}

std::function<int()> setup(CommandLine& line) {
  auto options = std::make_shared<Options>();
  add_model_options(line, options->model);
  line.set_group(OptionGroup::kData);
  line.add_option("--load FILE|FOLDER", options->loads,
                  "the weights, as run takes them: a folder of checkpoints (the last one), a published "
                  "folder, or a .safetensors file (repeatable; default: the folder of the model)");
  line.add_option("--map FROM=TO|FILE", options->maps,
                  "names of the loaded tensors in the model, as run takes them (repeatable)");
  line.add_option("--tokenizer DIR", options->exports.tokenizer,
                  "the folder whose tokenizer is exported, too (default: that of the model's config.json)");
  line.set_group(OptionGroup::kOutput);
  add_export_options(line, "-o", options->exports);
  return [options] { return run(*options); };
}

}  // namespace

const Command kExportCommand = {
    .name = "export",
    .summary = "write a trained model as a published one: config.json, weights, tokenizer",
    .description =
        "Takes the weights of a checkpoint or of files, and writes them under the names and in the shapes "
        "that "
        "published models of the same family have, beside a config.json with the sizes of the model. MODEL "
        "is a "
        "model that mtfc import has written, a published folder, or a family of models/families/. The folder "
        "appears when it is complete. Weights pass through one by one, so that little memory is needed. run "
        "--export writes the same after its last step.",
    .examples =
        "  mtfc export llama.json --load checkpoints -o my-llama\n"
        "  mtfc export Llama-3.2-1B -o Llama-3.2-1B-f16 --export-dtype f16\n",
    .setup = setup,
};

}  // namespace mtfc
