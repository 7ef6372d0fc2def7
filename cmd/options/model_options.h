#pragma once
// The options that name a model and a layout, shared by all subcommands, and what they lead to.

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cmd/files/included_files.h"
#include "core/compile/pipeline.h"
#include "core/model/model.h"
#include "core/program/program.h"
#include "core/tensors/layout.h"

namespace mtfc {

class CommandLine;

struct ModelOptions {
  std::string model;
  std::vector<std::string> sets;
  std::optional<std::string> optimizer;
  std::optional<std::string> dtype;
  std::optional<int64_t> microbatches;
  bool quiet = false;
  bool no_uneven = false;
  std::vector<std::string> without_passes;  // of improving_passes()
  bool propagate = false;
  std::optional<int64_t> time_limit;  // seconds in which plans are chosen
};
/// Adds hints for those who type the options of other programs, to a command that has --mesh.
void add_foreign_hints(CommandLine& line, bool takes_model);

/// MODEL, --set, --optimizer, --microbatches, --dtype, --quiet, --no-uneven, --without-pass. With `or_program` the file
/// may also be a saved program. Adds the hints of add_foreign_hints().
void add_model_options(CommandLine& line, ModelOptions& options, bool or_program = false);

/// One mesh and layout, as given: each may be absent.
struct LayoutFlags {
  std::optional<std::string> mesh;
  std::optional<std::string> layout;
  bool preset_between = true;  // false: of a preset, only the rules that are not between parts
};
void add_layout_options(CommandLine& line, LayoutFlags& flags);
/// --propagate, which holds for every layout of the command.
void add_propagate_option(CommandLine& line, ModelOptions& options);
/// --propagate, and --time-limit for the choice of all plans of the command.
void add_plan_options(CommandLine& line, ModelOptions& options);
/// The options of a model, of its only layout and of its plans.
void add_model_and_layout(CommandLine& line, ModelOptions& options, LayoutFlags& flags,
                          bool or_program = false);

/// The settings that a checkpoint stores. The options that the user gives take precedence over them.
struct Defaults {
  std::vector<std::string> sets = {};     // NAME=VALUE; they hold where the model has the name
  std::optional<std::string> dtype = {};  // as --dtype takes it
};

/// The bytes a program is compiled from; read once, by one rank.
struct Sources {
  std::string model_file;
  std::string model_text;
  LayoutFlags flags;
  std::string layout_text;  // of the layout file, where flags.layout names one
  Defaults defaults = {};
  std::string told = {};           // what rank 0 tells the others (Execution::tell)
  std::string hardware_text = {};  // of the hardware profile that plans are chosen for; "" for none
  std::string program_text = {};   // what rank 0 has made of it all; "": each rank makes the same
  // Filled as the model is read. Sources of one model share them.
  std::shared_ptr<IncludedFiles> includes = std::make_shared<IncludedFiles>();
};
/// Throws UserError where a file can't be read.
Sources read_sources(const ModelOptions& options, const LayoutFlags& flags);
/// The same model under several layouts; each file is read once, for standard input can't be read again.
std::vector<Sources> read_sources(const ModelOptions& options, const std::vector<LayoutFlags>& flags);

/// A model, and a layout per Sources.
struct ModelAndLayouts {
  Model model;
  std::vector<Layout> layouts;
};
/// Reads the one model of all `sources`, and their layouts. Throws one UserError with all that is wrong with
/// the model and with the text of the layouts; warnings go to `warnings`. `compile_options` watch the passes over the
/// model.
ModelAndLayouts read_model_and_layouts(std::span<const Sources> sources, const ModelOptions& options,
                                       std::vector<Diagnostic>& warnings,
                                       const CompileOptions& compile_options = {});

/// Returns the --dtype that the model is read with: the user's, or else that of the checkpoint. Returns nothing if
/// neither gives one, and for a compiled program.
std::optional<std::string> dtype_of(const Sources& sources, const ModelOptions& options);

/// The options of compilation that the command line states. The time to choose plans begins now.
CompileOptions compile_options_of(const ModelOptions& options);

/// A saved program as it is read, or a model compiled for the layout. Throws UserError; for a saved program
/// also where the options ask for another layout or for a tensor (CompileOptions::keep) that it does not
/// keep.
Program make_program(const Sources& sources, const ModelOptions& options,
                     const CompileOptions& compile_options, std::vector<Diagnostic>& warnings);
/// The same; a model is compiled by `make`.
Program make_program(const Sources& sources, const ModelOptions& options,
                     const CompileOptions& compile_options, std::vector<Diagnostic>& warnings,
                     const std::function<Program(const Model&, const Layout&)>& make);

/// Prints warnings to standard error, unless quiet.
void show(const std::vector<Diagnostic>& warnings, bool quiet);

}  // namespace mtfc
