#include <fmt/format.h>

#include <iostream>
#include <memory>

#include "cmd/command.h"
#include "cmd/files/files.h"
#include "cmd/launch/launch.h"
#include "cmd/options/command_line.h"
#include "cmd/options/entry_choice.h"
#include "cmd/options/hardware_profile.h"
#include "cmd/options/layout_warnings.h"
#include "cmd/options/model_options.h"
#include "cmd/options/option_checks.h"
#include "cmd/options/text_output.h"
#include "cmd/terminal/work_watch.h"
#include "core/model/entry_points.h"
#include "formats/program/program_reader.h"
#include "formats/report/difference_writer.h"

namespace mtfc {
namespace {

struct Options {
  ModelOptions model;
  std::string a;                 // a layout, or a second saved program
  std::optional<std::string> b;  // a layout
  std::vector<std::string> meshes;
  std::string entry;
  OutputFlags output;
  std::string hardware = kInventedProfile;
  bool plans_for_hardware = false;  // it is given, so plans are chosen for it
  int64_t top = 20;
};

// The model under both layouts.
std::vector<Program> compiled(const Options& options, const Hardware& hardware,
                              std::vector<Diagnostic>& warnings) {
  std::vector<LayoutFlags> flags = {{{}, options.a}, {{}, options.b}};
  for (size_t i = 0; i < flags.size(); ++i)
    if (!options.meshes.empty()) flags[i].mesh = options.meshes[options.meshes.size() == 1 ? 0 : i];
  const std::vector<Sources> sources = read_sources(options.model, flags);
  if (is_program(sources.front().model_text))
    throw UserError(fmt::format("{} is a compiled program, which has its layout", options.model.model),
                    "give two programs, or a model and two layouts");
  const auto [model, layouts] = read_model_and_layouts(sources, options.model, warnings);
  CompileOptions compile_options = compile_options_of(options.model);
  compile_options.decode = is_for_generation(options.entry);
  if (options.plans_for_hardware) compile_options.hardware = &hardware;
  std::vector<Program> programs;
  for (const Layout& layout : layouts) programs.push_back(compile(model, layout, compile_options));
  return programs;
}

// Two programs as `mtfc compile -o` saves them.
std::vector<Program> saved(const Options& options, std::vector<Diagnostic>& warnings) {
  std::vector<Program> programs;
  for (const std::string& file : {options.model.model, options.a}) {
    ModelOptions one = options.model;
    one.model = file;
    const Sources sources = read_sources(one, LayoutFlags{});
    if (!is_program(sources.model_text))
      throw UserError(fmt::format("{} is not a compiled program", file),
                      "give a model and two layouts, as in mtfc diff model.json batch:rows hidden:rows "
                      "--mesh rows:4");
    programs.push_back(make_program(sources, one, {}, warnings));
  }
  if (programs[0].model != programs[1].model)
    throw UserError(fmt::format("the programs are of different models, '{}' and '{}'", programs[0].model,
                                programs[1].model));
  return programs;
}

int run(const Options& options) {
  const WorkWatch watch(std::cerr, status_place(options.model.quiet));
  const bool as_json = is_json(options.output, "a comparison");
  if (options.meshes.size() > 2)
    throw UserError(fmt::format("{} --mesh for two layouts", options.meshes.size()),
                    "give one --mesh for both, or one for each");
  if (!options.b && !options.meshes.empty())
    throw UserError("--mesh needs a model and two layouts; a compiled program has its mesh");
  require_one_reader(options.hardware, options.model.model, options.a);
  if (options.b) require_one_reader(options.hardware, options.model.model, *options.b);
  const Hardware hardware = hardware_profile(options.hardware);
  std::vector<Diagnostic> warnings;
  const std::vector<Program> programs =
      options.b ? compiled(options, hardware, warnings) : saved(options, warnings);
  if (const auto warning = unmeasured_links_warning(hardware, {programs[0].layout, programs[1].layout}))
    warnings.push_back(*warning);
  for (size_t i = 0; i < programs.size(); ++i)
    for (Diagnostic& idle : idle_warnings(programs[i], chosen_entry(options.entry, programs[i]))) {
      idle.message = fmt::format("{}: {}", i == 0 ? "A" : "B", idle.message);
      warnings.push_back(std::move(idle));
    }
  show(warnings, options.model.quiet);
  std::vector<ComparedEntry> entries;
  std::vector<CostReport> reports;
  for (const Program& program : programs) {
    const EntryPoint& entry = chosen_entry(options.entry, program);
    entries.push_back({program, entry});
    reports.push_back(cost_report(program, entry, predicted_counts(program, entry), &hardware));
  }
  const ProgramDifference difference{std::move(reports[0]), std::move(reports[1]),
                                     sharding_differences(entries[0], entries[1]),
                                     collective_differences(entries[0], entries[1])};
  const size_t width = text_width(options.output.file, 80);
  write_text(options.output.file, as_json
                                      ? difference_json(difference)
                                      : difference_text(difference, width, static_cast<size_t>(options.top)));
  tell_written(options.output.file, options.model.quiet);
  return kExitSuccess;
}

std::function<int()> setup(CommandLine& line) {
  auto options = std::make_shared<Options>();
  add_model_options(line, options->model, true);
  line.add_option("A LAYOUT|PROGRAM", options->a,
                  "the first layout: rules, as in batch:rows, or a layout file; or the second program")
      .required()
      .may_be_empty();
  for (const char* name : {"--layout", "--layout_rules", "--layout-rules", "-l", "--rules"})
    line.add_hint(name, "the layouts follow the model: mtfc diff MODEL batch:rows hidden:rows --mesh rows:4");
  line.add_option("B LAYOUT", options->b, "the second layout").may_be_empty();
  line.set_group(OptionGroup::kModel);
  line.add_option("--mesh AXIS:SIZE,...", options->meshes,
                  "the mesh of both layouts, as in rows:2,cols:4; given twice, that of A and that of B");
  add_plan_options(line, options->model);
  line.set_group(OptionGroup::kReport);
  add_entry_option(line, options->entry, "compare");
  add_hardware_option(line, options->hardware);
  line.set_group(OptionGroup::kReport);
  line.add_option("--top N", options->top, "the most tensors, and the most collectives, to list")
      .check(whole_number(0))
      .show_default();
  add_output_options(line, options->output);
  return [options, line] {
    options->plans_for_hardware = line.option("--hardware").is_given();
    return run(*options);
  };
}

}  // namespace

const Command kDiffCommand = {
    .name = "diff",
    .summary = "compare two layouts of a model: figures, shardings and collectives",
    .description =
        "Compares two layouts of a model, or two saved programs: their predicted times, arithmetic, bytes "
        "and memory; the tensors that they split differently; and the collectives that only one of them has, "
        "or that send more in one of them.",
    .examples =
        "  mtfc diff model.json batch:all hidden:all --mesh all:4\n"
        "  mtfc diff model.json a.json b.json --hardware h100\n"
        "  mtfc diff model.json batch:rows batch:rows,hidden:cols --mesh rows:4 --mesh rows:2,cols:2\n"
        "  mtfc diff a.program.json b.program.json --format json",
    .setup = setup,
};

}  // namespace mtfc
