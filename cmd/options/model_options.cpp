#include "cmd/options/model_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <map>
#include <set>

#include "cmd/files/family_files.h"
#include "cmd/files/files.h"
#include "cmd/options/command_line.h"
#include "cmd/options/folded_warnings.h"
#include "cmd/options/option_checks.h"
#include "cmd/terminal/work_watch.h"
#include "core/diagnostics/suggest.h"
#include "core/model/optimizer.h"
#include "core/model/zero_stage.h"
#include "formats/json/json_value.h"
#include "formats/layout/layout_reader.h"
#include "formats/layout/preset.h"
#include "formats/model/model_reader.h"
#include "formats/program/program_reader.h"

namespace mtfc {

namespace {

// Options of other programs for the same as one of mtfc.
struct ForeignOption {
  std::vector<const char*> names;
  const char* hint;
  bool is_for_model;  // the option of mtfc needs a model
};

const ForeignOption kForeignOptions[] = {
    {{"--lr", "--learning-rate", "--learning_rate"}, "set the model's param: --set lr=VALUE", true},
    {{"--batch", "--batch-size", "--batch_size"}, "set the size of the dimension: --set batch=VALUE", true},
    {{"-n", "-np", "--np", "--ranks", "--nproc", "--devices", "--gpus"},
     "the mesh says how many ranks there are: --mesh all:VALUE",
     false},
    // The flags of Mesh TensorFlow have the same form.
    {{"--mesh_shape", "--mesh-shape"}, "the mesh is given as --mesh AXIS:SIZE,...", false},
    {{"--layout_rules", "--layout-rules", "-l", "--rules"},
     "the rules are given as --layout DIM:AXIS,...",
     true},
};

// The hint for an argument that names a second model or program, and no layout; "" for any other.
std::string hint_of_second_model(const std::string& file) {
  std::error_code ignored;
  if (!file.ends_with(".json") || !std::filesystem::is_regular_file(file, ignored)) return "";
  try {
    const std::string text = read_text(file, "model");
    if (is_program(text)) return "it is a second program, and the command takes one";
    const std::optional<JsonValue> whole = find_json(text);
    return whole && whole->find("ops") ? "it is a second model, and the command takes one" : "";
  } catch (const Error&) {
    return "";
  }
}

}  // namespace

void add_foreign_hints(CommandLine& line, bool takes_model) {
  for (const ForeignOption& option : kForeignOptions)
    for (const char* name : option.names)
      line.add_hint(name, takes_model || !option.is_for_model
                              ? option.hint
                              : "it is for a model, and the command takes none");
}

void add_model_options(CommandLine& line, ModelOptions& options, bool or_program) {
  if (or_program)
    line.add_option(
            "MODEL|PROGRAM", options.model,
            "the model file, the folder or config.json of a published model, a program saved by `mtfc "
            "compile -o`, or - for standard input")
        .required();
  else
    line.add_option("MODEL", options.model,
                    "the model file, the folder or config.json of a published model, or - for standard input")
        .required();
  line.set_group(OptionGroup::kModel);
  line.add_option("--set NAME=VALUE", options.sets, "set a param or the size of a dimension (repeatable)");
  line.add_option("--dtype DTYPE", options.dtype,
                  "bf16: mixed precision, products and activations in bf16; f64: compute in f64 instead of "
                  "f32; f32: as the model states it, without mixed precision")
      .check(one_of({"bf16", "f32", "f64"}));
  line.add_flag("--no-uneven", options.no_uneven, "refuse dimensions that do not divide evenly");
  line.add_option(
          "--without-pass PASS", options.without_passes,
          "leave out a pass of the compiler that makes programs better, not right: to find the one that "
          "makes a result wrong (repeatable)")
      .check(one_of(improving_passes()));
  line.set_group(OptionGroup::kTraining);
  line.add_option(
          "--optimizer KIND", options.optimizer,
          "train with another optimizer, which keeps the model's lr and has the default settings of its kind")
      .check(one_of(all_names(all_optimizers())));
  line.add_option("--microbatches N", options.microbatches,
                  "split the training batch into N microbatches that run in sequence, which gives the same "
                  "result in less memory")
      .check(whole_number(1));
  line.set_group(OptionGroup::kOutput);
  line.add_flag("--quiet,-q", options.quiet,
                "print neither warnings nor progress; run prints no results either");
  add_foreign_hints(line, true);
  line.set_hint_of_extra(hint_of_second_model);
}

void add_layout_options(CommandLine& line, LayoutFlags& flags) {
  line.set_group(OptionGroup::kModel);
  line.add_option("--mesh AXIS:SIZE,...", flags.mesh,
                  "the mesh: its axes and their sizes, as in rows:2,cols:4")
      .hint_if_repeated("join axes with a comma: --mesh rows:2,cols:4");
  line.add_option(
          "--layout DIM:AXIS,...|FILE", flags.layout,
          "rules, as in batch:rows,hidden:cols; among them zero:1, zero:2 or zero:3, a stage of ZeRO over "
          "the axes of the batch, between:DIM:AXIS, a rule that yields to the others, and propagate; a "
          "preset "
          "such as megatron, with rules behind it or not; or a layout file ending in .json, or - for "
          "standard input")
      .hint_if_repeated("join rules with a comma: --layout batch:rows,hidden:cols");
}

void add_propagate_option(CommandLine& line, ModelOptions& options) {
  line.set_group(OptionGroup::kModel);
  line.add_flag("--propagate", options.propagate,
                "choose the shardings that neither rules nor annotations fix, so that the step costs least");
}

void add_plan_options(CommandLine& line, ModelOptions& options) {
  add_propagate_option(line, options);
  line.add_option("--time-limit S", options.time_limit,
                  "choose shardings for so many seconds at most, and take the best that were found by then "
                  "(default: until none can be better)")
      .check(whole_number(0, 1000000000));
}

void add_model_and_layout(CommandLine& line, ModelOptions& options, LayoutFlags& flags, bool or_program) {
  add_model_options(line, options, or_program);
  add_layout_options(line, flags);
  add_plan_options(line, options);
}

namespace {

// Files of a folder of models/ that a name may mean.
struct BundledFile {
  std::string exact;  // `mnist` and `mnist.json` are names of models/mnist.json; "" if there is none
  std::string near;   // the one with a similar name, or ""
};

BundledFile bundled_file(const std::string& name, const char* folder) {
  namespace fs = std::filesystem;
  const fs::path file = fs::path(name).filename();
  const std::string wanted = file.extension() == ".json" ? file.stem().string() : file.string();
  std::map<std::string, std::string> paths;  // by the hint that names them
  std::vector<std::string> names;
  BundledFile found;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(fs::path(library_folder()) / folder, ignored)) {
    if (entry.path().extension() != ".json") continue;
    names.push_back(entry.path().stem().string());
    paths[fmt::format("did you mean '{}'?", names.back())] = entry.path().string();
    if (names.back() == wanted) found.exact = entry.path().string();
  }
  std::sort(names.begin(), names.end());
  if (const auto near = paths.find(did_you_mean(wanted, names)); near != paths.end())
    found.near = near->second;
  return found;
}

// The text of a model, or of a layout from the folder of the bundled ones.
std::string given_text(const std::string& file, const char* what, const char* folder) {
  try {
    return read_text(file, what);
  } catch (const UserError& error) {
    const Diagnostic& problem = error.diagnostics().front();
    if (std::filesystem::exists(file)) throw;
    const BundledFile bundled = bundled_file(file, folder);
    if (!bundled.exact.empty())
      throw UserError(problem.message, fmt::format("the bundled {} is '{}'", what, bundled.exact));
    if (bundled.near.empty() || !problem.hint.empty()) throw;
    throw UserError(problem.message, fmt::format("did you mean the bundled '{}'?", bundled.near));
  }
}

// Throws UserError where the value of --layout is neither rules nor the name of a layout file, but something that could
// be made one.
void check_layout_flag(const std::string& layout) {
  namespace fs = std::filesystem;
  const size_t first = layout.find_first_not_of(" \t\n");
  if (first != std::string::npos && (layout[first] == '{' || layout[first] == '[')) {
    const std::string flags = flags_of(layout);
    throw UserError("--layout takes rules or the name of a file, not JSON",
                    fmt::format("write {}, or give the JSON on standard input: --layout -",
                                flags.empty() ? "rules, as in batch:rows,hidden:cols" : flags));
  }
  std::error_code ignored;
  if (fs::is_regular_file(layout, ignored))
    throw UserError(fmt::format("the name of the layout file '{}' does not end in .json", layout),
                    "rename it, or give it on standard input: --layout -");
  if (layout.empty() || layout.find(':') != std::string::npos || layout == "propagate") return;
  const std::string problem = fmt::format("'{}' is no rule: DIMENSION:AXIS", layout);
  if (fs::is_regular_file(layout + ".json", ignored))
    throw UserError(problem, fmt::format("did you mean the file '{}.json'?", layout));
  if (const BundledFile preset = bundled_file(layout.substr(0, layout.find(',')), "layouts/presets");
      !preset.near.empty())
    throw UserError(problem,
                    fmt::format("did you mean the preset '{}'?", fs::path(preset.near).stem().string()));
  const BundledFile bundled = bundled_file(layout, "layouts");
  if (!bundled.exact.empty())
    throw UserError(problem, fmt::format("the bundled layout is '{}'", bundled.exact));
  if (!bundled.near.empty())
    throw UserError(problem, fmt::format("did you mean the bundled '{}'?", bundled.near));
}

// `megatron,zero:3`: a layout that begins with the name of a preset. Its text is read, and the rules behind it stay.
void take_preset(Sources& sources) {
  const std::string layout = *sources.flags.layout, name = layout.substr(0, layout.find(','));
  const std::filesystem::path file =
      std::filesystem::path(library_folder()) / "layouts/presets" / (name + ".json");
  std::error_code ignored;
  if (name.find_first_of(":/") != std::string::npos || !std::filesystem::exists(file, ignored)) return;
  sources.layout_text = read_regular_text(file.string(), "preset");
  sources.flags.layout = layout.substr(std::min(layout.size(), name.size() + 1));
}

}  // namespace

Sources read_sources(const ModelOptions& options, const LayoutFlags& flags) {
  return std::move(read_sources(options, std::vector<LayoutFlags>{flags}).front());
}

std::vector<Sources> read_sources(const ModelOptions& options, const std::vector<LayoutFlags>& flags) {
  std::vector<Sources> all;
  std::map<std::string, std::string> layouts;  // by file
  for (const LayoutFlags& one : flags) {
    Sources sources{options.model, {}, one, {}, {}};
    if (one.layout && is_layout_file(*one.layout)) {
      if (options.model == "-" && *one.layout == "-")
        throw UserError("the model and the layout can't both be read from standard input");
      if (layouts.count(*one.layout) == 0)
        layouts[*one.layout] = given_text(*one.layout, "layout", "layouts");
      sources.layout_text = layouts[*one.layout];
    } else if (one.layout) {
      take_preset(sources);
      check_layout_flag(*sources.flags.layout);
    }
    if (!all.empty()) sources.includes = all.front().includes;
    all.push_back(std::move(sources));
  }
  const std::string file = model_file(options.model);
  std::string model = given_text(file, "model", "");
  if (is_config(model)) {
    const std::string config = file == "-" ? "<stdin>" : file;
    model = import_model(model, config, family_files());
    for (Sources& sources : all) sources.model_file = config + " as mtfc import writes it";
  }
  for (Sources& sources : all) sources.model_text = model;
  return all;
}

std::optional<std::string> dtype_of(const Sources& sources, const ModelOptions& options) {
  if (is_program(sources.model_text)) return std::nullopt;
  return options.dtype ? options.dtype : sources.defaults.dtype;
}

namespace {

Model read_model(const Sources& sources, const ModelOptions& options, std::vector<Diagnostic>& warnings,
                 const CompileOptions& compile_options) {
  const std::string file = sources.model_file == "-" ? "<stdin>" : sources.model_file;
  if (is_program(sources.model_text))
    throw UserError(fmt::format("{} is a compiled program, not a model", file),
                    "run and cost-report take programs");
  const std::optional<std::string> dtype = dtype_of(sources, options);
  return read_model(
      sources.model_text, file, options.sets, warnings,
      {[&](const IncludeName& name) { return sources.includes->read(name); },
       {options.optimizer, dtype ? value_named<DType>(*dtype) : std::nullopt, options.microbatches},
       sources.defaults.sets,
       &compile_options});
}

// A layout as it is read; a stage of ZeRO is added when the model is known.
struct ReadLayout {
  Layout layout;
  LayoutExtras extras = {};
};

ReadLayout read_layout(const Sources& sources, const ModelOptions& options,
                       std::vector<Diagnostic>& warnings) {
  LayoutSources layout;
  layout.mesh = sources.flags.mesh;
  if (sources.flags.layout && is_layout_file(*sources.flags.layout)) {
    layout.file = *sources.flags.layout == "-" ? "<stdin>" : *sources.flags.layout;
    layout.file_text = sources.layout_text;
  } else {
    layout.rules = sources.flags.layout;
    layout.file = "preset";
    if (!sources.layout_text.empty()) layout.preset = sources.layout_text;
    layout.preset_between = sources.flags.preset_between;
  }
  ReadLayout read;
  read.layout = read_layout(layout, warnings, &read.extras);
  read.layout.propagate = read.layout.propagate || options.propagate;
  return read;
}

// Throws UserError where devices do not share the batch, so that they hold no copies because of it. Adds a note where
// the axes are 1 long: the layout is then the same as without the stage, and is called the same.
Layout with_zero(ReadLayout read, const Model& model, std::vector<Diagnostic>& warnings) {
  remove_unknown(read.extras, model.dims, read.layout);
  if (!read.extras.zero) return std::move(read.layout);
  const auto& [stage, location, stated] = *read.extras.zero;
  if (!stated.empty()) return with_zero_stage(std::move(read.layout), stated, stage);
  const Dims data = data_dims(model);
  const auto is_split = [&](const Dim& dim) { return find_rule(read.layout, dim.name) != nullptr; };
  if (std::none_of(data.begin(), data.end(), is_split))
    throw UserError(
        {{location,
          fmt::format("ZeRO spreads what devices that share the batch hold copies of, but {}",
                      data.empty() ? "no input of the model has a batch"
                                   : fmt::format("no rule splits '{}'", data[0].name)),
          data.empty() ? "" : fmt::format("split it, as in {}:AXIS,zero:{}", data[0].name, stage)}});
  const AxisList axes = data_axes(model, read.layout);
  if (axes.empty() && stage > 0)
    warnings.push_back({location,
                        fmt::format("ZeRO has nothing to split on {}: one device has the whole of '{}'",
                                    to_string(read.layout.mesh), data[0].name),
                        "", Severity::kNote});
  return with_zero_stage(std::move(read.layout), axes, stage);
}

// Adds a note for each layout file that a search has written for other sizes.
void note_other_sizes(const std::vector<ReadLayout>& read, const Model& model,
                      std::vector<Diagnostic>& notes) {
  std::set<std::string> told;  // the same file may be given for several meshes
  for (const ReadLayout& one : read) {
    if (!one.extras.found_for) continue;
    const std::optional<Diagnostic> note = other_sizes_note(*one.extras.found_for, model);
    if (note && told.insert(to_string(*note)).second) notes.push_back(*note);
  }
}

// The result of `read`, or nothing, with its errors added to `errors`.
template <typename Read>
auto gather_errors(std::vector<Diagnostic>& errors, Read read) -> std::optional<decltype(read())> {
  try {
    return read();
  } catch (const UserError& error) {
    for (const Diagnostic& diagnostic : error.diagnostics()) {
      const auto is_same = [&](const Diagnostic& other) { return to_string(other) == to_string(diagnostic); };
      if (std::none_of(errors.begin(), errors.end(), is_same)) errors.push_back(diagnostic);
    }
  }
  return std::nullopt;
}

}  // namespace

ModelAndLayouts read_model_and_layouts(std::span<const Sources> sources, const ModelOptions& options,
                                       std::vector<Diagnostic>& warnings,
                                       const CompileOptions& compile_options) {
  std::vector<Diagnostic> errors;
  std::optional<Model> model =
      gather_errors(errors, [&] { return read_model(sources.front(), options, warnings, compile_options); });
  std::vector<ReadLayout> read;
  for (const Sources& one : sources)
    if (auto layout = gather_errors(errors, [&] { return read_layout(one, options, warnings); }))
      read.push_back(*layout);
  std::vector<Layout> layouts;
  if (model) note_other_sizes(read, *model, warnings);
  for (ReadLayout& one : read)
    if (auto layout = gather_errors(errors, [&] {
          return model ? with_zero(std::move(one), *model, warnings) : std::move(one.layout);
        }))
      layouts.push_back(*layout);
  if (!errors.empty()) throw UserError(std::move(errors));
  return {std::move(*model), std::move(layouts)};
}

namespace {

bool keeps(const Program& program, const std::string& name) {
  for (const EntryPoint& entry : program.entry_points)
    if (find_named(entry.outputs, name)) return true;
  return find_named(program.variables, name) != nullptr;
}

Program saved_program(const Sources& sources, const ModelOptions& options,
                      const CompileOptions& compile_options) {
  const std::string file = sources.model_file == "-" ? "<stdin>" : sources.model_file;
  const char* given = sources.flags.mesh                ? "--mesh"
                      : sources.flags.layout            ? "--layout"
                      : options.propagate               ? "--propagate"
                      : !options.sets.empty()           ? "--set"
                      : options.optimizer               ? "--optimizer"
                      : options.microbatches            ? "--microbatches"
                      : options.dtype                   ? "--dtype"
                      : options.no_uneven               ? "--no-uneven"
                      : !options.without_passes.empty() ? "--without-pass"
                                                        : nullptr;
  if (given)
    throw UserError(fmt::format("{} can't change {}, which is a compiled program", given, file),
                    "give the model, or compile it again");
  Program program = read_program(sources.model_text, file);
  for (const std::string& name : compile_options.keep)
    if (!keeps(program, name))
      throw UserError(fmt::format("{} does not keep the tensor '{}'", file, name),
                      fmt::format("compile the model with --output {}", name));
  return program;
}

}  // namespace

CompileOptions compile_options_of(const ModelOptions& options) {
  CompileOptions compile_options;
  compile_options.allow_uneven = !options.no_uneven;
  compile_options.without_passes = {options.without_passes.begin(), options.without_passes.end()};
  if (options.time_limit) {
    using Clock = std::chrono::steady_clock;
    const Clock::time_point end = Clock::now() + std::chrono::seconds(*options.time_limit);
    compile_options.ends_choice = [end] { return Clock::now() >= end; };
  }
  return compile_options;
}

Program make_program(const Sources& sources, const ModelOptions& options,
                     const CompileOptions& compile_options, std::vector<Diagnostic>& warnings) {
  return make_program(
      sources, options, compile_options, warnings,
      [&](const Model& model, const Layout& layout) { return compile(model, layout, compile_options); });
}

Program make_program(const Sources& sources, const ModelOptions& options,
                     const CompileOptions& compile_options, std::vector<Diagnostic>& warnings,
                     const std::function<Program(const Model&, const Layout&)>& make) {
  if (is_program(sources.model_text)) return saved_program(sources, options, compile_options);
  if (!sources.program_text.empty()) return read_sent_program(sources.program_text);
  const auto [model, layouts] = read_model_and_layouts({&sources, 1}, options, warnings);
  return make(model, layouts.front());
}

void show(const std::vector<Diagnostic>& warnings, bool quiet) {
  if (quiet) return;
  WorkWatch::make_way();
  for (const Diagnostic& warning : folded_warnings(warnings))
    std::cerr << (warning.location.file.empty() ? "mtfc: " : "") + to_string(warning) + "\n";
}

}  // namespace mtfc
