#include "cmd/model_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>

#include "cmd/files.h"
#include "formats/layout_reader.h"
#include "formats/model_reader.h"
#include "formats/program_reader.h"

namespace mtfc {

void add_model_options(CLI::App& app, ModelOptions& options, bool or_program) {
  if (or_program)
    app.add_option("MODEL|PROGRAM", options.model,
                   "the model file, or a program that `mtfc compile -o` has saved, or - for standard input")
        ->required();
  else
    app.add_option("MODEL", options.model, "the model file, or - for standard input")->required();
  app.add_option("--set", options.sets, "NAME=VALUE: replace a param or a dimension's size (repeatable)")
      ->allow_extra_args(false)
      ->type_name("NAME=VALUE");
  app.add_flag("--quiet,-q", options.quiet, "no warnings and no progress");
  app.add_flag("--no-uneven", options.no_uneven, "refuse dimensions that do not divide evenly");
}

void add_layout_options(CLI::App& app, LayoutFlags& flags) {
  app.add_option("--mesh", flags.mesh, "the mesh: its axes and their sizes, as in rows:2,cols:4")
      ->type_name("AXIS:SIZE,...");
  app.add_option(
         "--layout", flags.layout,
         "rules, as in batch:rows,hidden:cols, or a layout file ending in .json, or - for standard input")
      ->type_name("DIM:AXIS,...|FILE");
}

Sources read_sources(const ModelOptions& options, const LayoutFlags& flags) {
  Sources sources{options.model, {}, flags, {}};
  if (flags.layout && is_layout_file(*flags.layout)) {
    if (options.model == "-" && *flags.layout == "-")
      throw UserError("the model and the layout can't both be read from standard input");
    sources.layout_text = read_text(*flags.layout, "layout");
  }
  sources.model_text = read_text(options.model, "model");
  return sources;
}

Model read_model(const Sources& sources, const ModelOptions& options, std::vector<Diagnostic>& warnings) {
  const std::string file = sources.model_file == "-" ? "<stdin>" : sources.model_file;
  if (is_program(sources.model_text))
    throw UserError(fmt::format("{} is a compiled program, not a model", file),
                    "run and cost-report take programs");
  return read_model(sources.model_text, file, options.sets, warnings);
}

Layout read_layout(const Sources& sources) {
  LayoutSources layout;
  layout.mesh = sources.flags.mesh;
  if (sources.flags.layout && is_layout_file(*sources.flags.layout)) {
    layout.file = *sources.flags.layout == "-" ? "<stdin>" : *sources.flags.layout;
    layout.file_text = sources.layout_text;
  } else {
    layout.rules = sources.flags.layout;
  }
  return read_layout(layout);
}

namespace {

bool keeps(const Program& program, const std::string& name) {
  const auto is_named = [&](const auto& named) { return named.name == name; };
  for (const EntryPoint& entry : program.entry_points)
    if (std::any_of(entry.outputs.begin(), entry.outputs.end(), is_named)) return true;
  return std::any_of(program.variables.begin(), program.variables.end(),
                     [&](const ProgramVariable& variable) { return variable.decl.name == name; });
}

Program saved_program(const Sources& sources, const ModelOptions& options,
                      const CompileOptions& compile_options) {
  const std::string file = sources.model_file == "-" ? "<stdin>" : sources.model_file;
  const char* given = sources.flags.mesh      ? "--mesh"
                      : sources.flags.layout  ? "--layout"
                      : !options.sets.empty() ? "--set"
                      : options.no_uneven     ? "--no-uneven"
                                              : nullptr;
  if (given)
    throw UserError(fmt::format("{} can't change {}, which is a compiled program", given, file),
                    "give the model, or compile it anew");
  Program program = read_program(sources.model_text, file);
  for (const std::string& name : compile_options.keep)
    if (!keeps(program, name))
      throw UserError(fmt::format("{} does not keep the tensor '{}'", file, name),
                      fmt::format("compile the model with --output {}", name));
  return program;
}

}  // namespace

Program make_program(const Sources& sources, const ModelOptions& options,
                     const CompileOptions& compile_options, std::vector<Diagnostic>& warnings) {
  if (is_program(sources.model_text)) return saved_program(sources, options, compile_options);
  return compile(read_model(sources, options, warnings), read_layout(sources), compile_options);
}

void show(const std::vector<Diagnostic>& warnings, bool quiet) {
  if (quiet) return;
  for (const Diagnostic& warning : warnings) std::cerr << to_string(warning) + "\n";
}

}  // namespace mtfc
