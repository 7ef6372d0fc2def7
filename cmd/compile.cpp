#include <fmt/format.h>

#include <iostream>
#include <memory>
#include <thread>

#include "cmd/command.h"
#include "cmd/files/files.h"
#include "cmd/launch/launch.h"
#include "cmd/options/command_line.h"
#include "cmd/options/entry_choice.h"
#include "cmd/options/file_endings.h"
#include "cmd/options/hardware_profile.h"
#include "cmd/options/layout_warnings.h"
#include "cmd/options/memory_limit.h"
#include "cmd/options/model_options.h"
#include "cmd/options/option_checks.h"
#include "cmd/options/reshard_limit.h"
#include "cmd/options/text_output.h"
#include "cmd/terminal/work_watch.h"
#include "core/diagnostics/parallel.h"
#include "core/model/entry_points.h"
#include "formats/program/program_writer.h"

namespace mtfc {
namespace {

struct Options {
  ModelOptions model;
  LayoutFlags layout;
  std::string format;
  std::string entry;  // "" for all
  std::string file = "-";
  std::optional<std::string> hardware;  // for the choice of a plan
  std::vector<std::string> outputs;
  std::string dump_after;
  bool time_passes = false;
  int64_t memory_limit = 0;   // bytes per device; 0: none
  int64_t reshard_limit = 0;  // likewise
};

std::string form_of(const Options& options) {
  const FileKinds kinds{
      "-o", "a program", {{"json", "json"}, {"txt", "text"}, {"dot", "dot"}, {"gv", "dot"}}};
  const std::string form = output_format(kinds, options.file, options.format, "text");
  if (!options.entry.empty() && form == "json")
    throw UserError("--entry is for text and graphs; a program in JSON has all entry points",
                    "leave out --entry, or give --format text");
  return form;
}

std::string written(const std::string& form, const Program& program) {
  if (form == "dot") return program_dot(program);
  return form == "text" ? program_text(program) : program_json(program);
}

bool is_printed(const Options& options, const std::string& entry) {
  return options.entry.empty() || options.entry == entry || entry == kModelDump;
}

// Prints the intermediate forms that --dump-after asks for while the program is compiled.
void add_dumps(const Options& options, CompileOptions& compile_options) {
  compile_options.dump_after = options.dump_after;
  compile_options.dump_graph = [&](const std::string& entry, const std::string& graph) {
    WorkWatch::make_way();
    if (is_printed(options, entry))
      std::cout << fmt::format("{} after {}\n", entry, options.dump_after) << graph << "\n";
  };
  compile_options.dump_steps = [&](const Program& program, const EntryPoint& entry) {
    WorkWatch::make_way();
    if (is_printed(options, entry.name))
      std::cout << fmt::format("{} after {}\n", entry.name, options.dump_after) << entry_text(program, entry)
                << buffers_text(entry) << "\n";
  };
  if (options.time_passes)
    compile_options.timed = [](const std::string& entry, const std::string& pass, double seconds) {
      WorkWatch::make_way();
      std::cerr << fmt::format("{:<10} {:<18} {:9.3f} ms\n", entry, pass, seconds * 1e3);
    };
}

int run(const Options& options) {
  const WorkWatch watch(std::cerr, status_place(options.model.quiet));
  const ThreadScope threads(std::thread::hardware_concurrency());
  const std::string form = form_of(options);
  require_one_reader(options.hardware, options.model.model, options.layout.layout);
  const std::optional<Hardware> hardware = hardware_profile(options.hardware);
  const Sources sources = read_sources(options.model, options.layout);
  std::vector<Diagnostic> warnings;
  CompileOptions reading;
  add_dumps(options, reading);
  auto [whole, layouts] = read_model_and_layouts({&sources, 1}, options.model, warnings, reading);
  const Model model = reduced_to(std::move(whole), options.entry);
  CompileOptions compile_options = compile_options_of(options.model);
  compile_options.decode = true;
  compile_options.keep = options.outputs;
  compile_options.hardware = hardware ? &*hardware : nullptr;
  add_dumps(options, compile_options);
  FittedProgram fitted =
      compile_within(model, layouts.front(), compile_options, options.memory_limit, compile_options.hardware);
  const Program& program = fitted.program;
  const int64_t memory = options.memory_limit > 0 ? options.memory_limit
                         : hardware               ? memory_of(*hardware)
                                                  : 0;
  if (!options.entry.empty()) chosen_entry(options.entry, program);
  for (const std::string& warning : program.warnings) warnings.push_back(plain_warning(warning));
  show(warnings, options.model.quiet);
  require_fits(fitted, options.memory_limit);
  if (!options.dump_after.empty()) return kExitSuccess;
  show(limit_notes(fitted, options.memory_limit), options.model.quiet);
  require_small_reshards(program, options.reshard_limit);
  if (!options.model.quiet)
    show(layout_warnings({model, layouts.front(), compile_options, program, memory}, options.entry), false);
  std::erase_if(fitted.program.entry_points,
                [&](const EntryPoint& entry) { return !is_printed(options, entry.name); });
  write_text(options.file, written(form, program));
  tell_written(options.file, options.model.quiet);
  return kExitSuccess;
}

std::function<int()> setup(CommandLine& line) {
  auto options = std::make_shared<Options>();
  add_model_and_layout(line, options->model, options->layout);
  line.set_group(OptionGroup::kOutput);
  add_output_file(line, options->file);
  line.add_option("--format,--emit", options->format,
                  "text (one step per line; default on standard output and for FILE.txt), json (default for "
                  "any other file) or dot (a graph for Graphviz; default for FILE.dot)")
      .check(one_of({"text", "json", "dot"}));
  add_entry_option(line, options->entry, "print", "all that the model has");
  line.add_option("--output NAME", options->outputs,
                  "keep a tensor that would otherwise be removed because nothing uses it (repeatable)");
  line.add_option("--dump-after PASS", options->dump_after,
                  "print the intermediate form after a pass, and nothing else")
      .check(one_of(pass_names()));
  line.add_flag("--time-passes", options->time_passes, "print the time of each pass");
  add_plan_hardware_option(line, options->hardware);
  add_memory_limit(line, options->memory_limit);
  add_reshard_limit(line, options->reshard_limit);
  return [options] { return run(*options); };
}

}  // namespace

const Command kCompileCommand = {
    .name = "compile",
    .summary = "build the SPMD program and print or save it",
    .description =
        "Compiles a model and a layout into the program that every rank executes, kernels and collectives, "
        "and prints it: one step per line, as JSON, or as a graph. `run` and `cost-report` take a saved "
        "program in place of the model.",
    .examples =
        "  mtfc compile model.json --mesh rows:2,cols:2 --layout batch:rows,hidden:cols\n"
        "  mtfc compile model.json --layout layout.json --entry evaluate\n"
        "  mtfc compile model.json --layout layout.json -o program.json\n"
        "  mtfc compile model.json --layout layout.json --format dot | dot -Tsvg > program.svg\n"
        "  mtfc compile model.json --layout layout.json --dump-after expand_gradients",
    .setup = setup,
};

}  // namespace mtfc
