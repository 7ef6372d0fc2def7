#include <algorithm>
#include <iterator>
#include <memory>

#include "cmd/command.h"
#include "cmd/files/files.h"
#include "cmd/options/command_line.h"
#include "cmd/options/layout_warnings.h"
#include "cmd/options/model_options.h"
#include "cmd/options/option_checks.h"
#include "formats/report/check_writer.h"

namespace mtfc {
namespace {

struct Options {
  ModelOptions model;
  LayoutFlags layout;
  std::string format = "text";
  std::string denied;  // "warnings", or ""
};

// The warnings and notes of a model and a layout. Throws UserError for their mistakes.
std::vector<Diagnostic> checked(const Options& options, const Sources& sources) {
  std::vector<Diagnostic> found;
  const auto [model, layouts] = read_model_and_layouts({&sources, 1}, options.model, found);
  const Layout& layout = layouts.front();
  CompileOptions compiling = compile_options_of(options.model);
  compiling.decode = true;
  check_compilable(model, layout, compiling);
  if (layout.mesh.devices() == 1) return found;
  compiling.decode = false;
  const Program program = compile(model, layout, compiling);
  for (const std::string& warning : program.warnings) found.push_back({{}, warning, "", Severity::kWarning});
  std::vector<Diagnostic> costly = layout_warnings({model, layout, compiling, program}, "");
  found.insert(found.end(), std::make_move_iterator(costly.begin()), std::make_move_iterator(costly.end()));
  return found;
}

// Makes errors of warnings.
void deny(std::vector<Diagnostic>& found) {
  for (Diagnostic& diagnostic : found)
    if (diagnostic.severity == Severity::kWarning) diagnostic.severity = Severity::kError;
}

int run(const Options& options) {
  const Sources sources = read_sources(options.model, options.layout);
  std::vector<Diagnostic> found;
  try {
    found = checked(options, sources);
  } catch (const UserError& error) {
    if (options.format != "json") throw;
    found = error.diagnostics();
  }
  if (!options.denied.empty()) deny(found);
  const bool has_errors = std::any_of(found.begin(), found.end(), [](const Diagnostic& diagnostic) {
    return diagnostic.severity == Severity::kError;
  });
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
  add_model_options(line, options->model);
  add_layout_options(line, options->layout);
  add_propagate_option(line, options->model);
  line.set_group(OptionGroup::kOutput);
  line.add_option("--format", options->format,
                  "text (mistakes on standard error) or json (all that is found, on standard output)")
      .check(one_of({"text", "json"}))
      .show_default();
  line.add_hint("--strict", "errors instead of warnings: --deny warnings");
  line.add_option("--deny", options->denied, "take warnings for errors, so that the exit code is 2")
      .check(one_of({"warnings"}))
      .type_name("warnings");
  return [options] { return run(*options); };
}

}  // namespace

const Command kCheckCommand = {
    .name = "check",
    .summary = "print the errors and warnings of a model and a layout",
    .description =
        "Reads a model and a layout and prints all their mistakes, each with its place in the file and what "
        "to do about it. Then it warns of what the layout leaves unused, such as devices that compute "
        "nothing, and of tensors that are gathered whole.",
    .examples =
        "  mtfc check model.json\n"
        "  mtfc check model.json --mesh rows:2,cols:2 --layout batch:rows,hidden:cols\n"
        "  mtfc check model.json --mesh all:4 --layout batch:all --deny warnings --format json",
    .setup = setup,
    .runs_nothing = true,
};

}  // namespace mtfc
