#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <set>

#include "cmd/command.h"
#include "cmd/files.h"
#include "cmd/model_options.h"
#include "cmd/option_checks.h"
#include "core/cost.h"
#include "formats/program_reader.h"
#include "formats/report_writer.h"

namespace mtfc {
namespace {

struct Options {
  ModelOptions model;
  std::vector<std::string> meshes;
  std::vector<std::string> layouts;
  std::string entry;
  std::string format;
  std::string file = "-";
};

// Meshes and layouts pair up; a list of one is shared.
std::vector<LayoutFlags> paired(const Options& options) {
  const size_t meshes = options.meshes.size(), layouts = options.layouts.size();
  const size_t count = std::max<size_t>({meshes, layouts, 1});
  if (meshes > 1 && layouts > 1 && meshes != layouts)
    throw UserError(fmt::format("{} --mesh and {} --layout do not pair up", meshes, layouts),
                    "give equally many, or one that is shared");
  std::vector<LayoutFlags> flags(count);
  for (size_t i = 0; i < count; ++i) {
    if (meshes > 0) flags[i].mesh = options.meshes[meshes == 1 ? 0 : i];
    if (layouts > 0) flags[i].layout = options.layouts[layouts == 1 ? 0 : i];
  }
  return flags;
}

// A saved program, or the model under each layout.
std::vector<Program> programs(const Options& options) {
  const std::vector<Sources> sources = read_sources(options.model, paired(options));
  std::vector<Diagnostic> warnings;
  CompileOptions compile_options;
  compile_options.allow_uneven = !options.model.no_uneven;
  compile_options.decode = options.entry == "decode";
  std::vector<Program> made;
  if (is_program(sources.front().model_text)) {
    made.push_back(make_program(sources.front(), options.model, compile_options, warnings));
  } else {
    const auto [model, layouts] = read_model_and_layouts(sources, options.model, warnings);
    for (const Layout& layout : layouts) made.push_back(compile(model, layout, compile_options));
  }
  std::set<std::string> said;
  for (const Program& program : made)
    for (const std::string& warning : program.warnings)
      if (said.insert(warning).second) warnings.push_back({{}, warning, "", Severity::kWarning});
  show(warnings, options.model.quiet);
  return made;
}

CostReport report(const Options& options, const Program& program) {
  const EntryPoint* entry = program.find(options.entry.empty() ? "train" : options.entry);
  if (!entry && options.entry.empty()) entry = program.find("evaluate");
  if (!entry && options.entry == "decode")
    throw UserError("the model has no entry point 'decode'", "its file has no \"decode\"");
  if (!entry)
    throw UserError("the model has no entry point 'train'", "it neither trains nor assigns variables");
  return cost_report(program, *entry, predicted_counts(program, *entry));
}

int run(const Options& options) {
  std::vector<CostReport> reports;
  for (const Program& program : programs(options)) reports.push_back(report(options, program));
  const bool table = options.format.empty() ? options.file == "-" : options.format == "table";
  write_text(options.file, table ? report_table(reports) : report_json(reports));
  return kExitSuccess;
}

std::function<int()> setup(CLI::App& app) {
  auto options = std::make_shared<Options>();
  add_model_options(app, options->model, true);
  app.add_option("--mesh", options->meshes, "the mesh, as in rows:2,cols:4 (repeat to compare)")
      ->allow_extra_args(false)
      ->type_name("AXIS:SIZE,...");
  app.add_option("--layout", options->layouts,
                 "rules, as in batch:rows, or a layout file (repeat to compare)")
      ->allow_extra_args(false)
      ->type_name("DIM:AXIS,...|FILE");
  app.add_option("--entry", options->entry,
                 "init, train, evaluate or decode (default: train where the model trains)")
      ->check(one_of({"init", "train", "evaluate", "decode"}))
      ->type_name("NAME");
  app.add_option("--format", options->format,
                 "table (default on standard output) or json (default for a file)")
      ->check(one_of({"table", "json"}));
  app.add_option("-o", options->file, "where to; - is standard output")
      ->type_name("FILE")
      ->capture_default_str();
  return [options] { return run(*options); };
}

}  // namespace

const Command kCostReportCommand = {
    .name = "cost-report",
    .summary = "arithmetic, communication and memory per device",
    .examples =
        "  mtfc cost-report model.json --mesh all:4 --layout batch:all\n"
        "  mtfc cost-report model.json --mesh all:4 --layout batch:all --layout hidden:all\n"
        "  mtfc cost-report model.json --layout layout.json --format json -o report.json\n"
        "  mtfc compile model.json --layout layout.json -o program.json && mtfc cost-report program.json",
    .setup = setup,
};

}  // namespace mtfc
