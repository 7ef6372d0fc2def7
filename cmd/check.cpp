#include <iostream>
#include <iterator>
#include <memory>

#include "cmd/command.h"
#include "cmd/files/files.h"
#include "cmd/launch/launch.h"
#include "cmd/options/command_line.h"
#include "cmd/options/hardware_profile.h"
#include "cmd/options/layout_warnings.h"
#include "cmd/options/model_options.h"
#include "cmd/options/option_checks.h"
#include "cmd/terminal/work_watch.h"
#include "formats/report/check_writer.h"

namespace mtfc {
namespace {

struct Options {
  ModelOptions model;
  LayoutFlags layout;
  std::string format = "text";
  std::string denied;  // "warnings", or ""
  std::optional<std::string> hardware;
};

// The warnings and notes of a model and a layout. Throws UserError for their mistakes.
std::vector<Diagnostic> checked(const Options& options, const Sources& sources) {
  std::vector<Diagnostic> found;
  const auto [model, layouts] = read_model_and_layouts({&sources, 1}, options.model, found);
  const Layout& layout = layouts.front();
  CompileOptions compiling = compile_options_of(options.model);
  compiling.decode = true;
  check_compilable(model, layout, compiling);
  if (layout.mesh.devices() == 1 && !options.hardware) return found;
  compiling.decode = false;
  const Program program = compile(model, layout, compiling);
  const std::optional<Hardware> hardware = hardware_profile(options.hardware);
  const int64_t memory = hardware ? memory_of(*hardware) : 0;
  if (hardware)
    if (auto warning = too_large_warning(program.arena_bytes(), memory, *hardware))
      found.push_back(*std::move(warning));
  if (layout.mesh.devices() == 1) return found;
  for (const std::string& warning : program.warnings) found.push_back(plain_warning(warning));
  std::vector<Diagnostic> costly = layout_warnings({model, layout, compiling, program, memory}, "");
  found.insert(found.end(), std::make_move_iterator(costly.begin()), std::make_move_iterator(costly.end()));
  return found;
}

int run(const Options& options) {
  require_one_reader(options.hardware, options.model.model, options.layout.layout);
  const WorkWatch watch(std::cerr, status_place(options.model.quiet));
  const Sources sources = read_sources(options.model, options.layout);
  std::vector<Diagnostic> found;
  try {
    found = checked(options, sources);
  } catch (const UserError& error) {
    if (options.format != "json") throw;
    found = error.diagnostics();
  }
  const bool has_errors = deny(options.denied, found);
  const std::string name = sources.model_file == "-" ? "<stdin>" : sources.model_file;
  if (options.format == "json") {
    write_text("-", check_json(name, found));
  } else {
    show(found, options.model.quiet && !has_errors);
    if (!options.model.quiet && !has_errors) write_text("-", check_text(name, found));
  }
  return has_errors ? kExitUserError : kExitSuccess;
}

std::function<int()> setup(CommandLine& line) {
  auto options = std::make_shared<Options>();
  add_model_and_layout(line, options->model, options->layout);
  add_optional_hardware(
      line, options->hardware,
      "also warn where a device of this hardware, a bundled profile (mtfc help hardware lists "
      "them) or a file written by `mtfc calibrate`, has too little memory");
  line.set_group(OptionGroup::kOutput);
  line.add_option("--format", options->format,
                  "text (mistakes on standard error) or json (all that is found, on standard output)")
      .check(one_of({"text", "json"}))
      .show_default();
  add_deny_option(line, options->denied);
  return [options] { return run(*options); };
}

}  // namespace

const Command kCheckCommand = {
    .name = "check",
    .summary = "print the errors and warnings of a model and a layout",
    .description =
        "Reads a model and a layout and prints all their mistakes, each with its place in the file and what "
        "to do about it. Then it warns of what the layout leaves unused, such as devices that compute "
        "nothing, and of tensors that are gathered whole; with --hardware, also if it does not fit into the "
        "memory of a device.",
    .examples =
        "  mtfc check model.json\n"
        "  mtfc check model.json --mesh rows:2,cols:2 --layout batch:rows,hidden:cols\n"
        "  mtfc check model.json --mesh all:4 --layout batch:all --deny warnings --format json\n"
        "  mtfc check model.json --mesh all:8 --layout batch:all,zero:3 --hardware h100 --deny warnings -q",
    .setup = setup,
};

}  // namespace mtfc
