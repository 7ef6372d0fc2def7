#include <iostream>
#include <memory>

#include "cmd/command.h"
#include "cmd/options/model_options.h"

namespace mtfc {
namespace {

std::function<int()> setup(CommandLine& line) {
  struct Options {
    ModelOptions model;
    LayoutFlags layout;
  };
  auto options = std::make_shared<Options>();
  add_model_options(line, options->model);
  add_layout_options(line, options->layout);
  add_propagate_option(line, options->model);
  return [options] {
    const Sources sources = read_sources(options->model, options->layout);
    std::vector<Diagnostic> warnings;
    const auto [model, layouts] = read_model_and_layouts({&sources, 1}, options->model, warnings);
    CompileOptions compile_options = compile_options_of(options->model);
    compile_options.decode = true;
    check_compilable(model, layouts.front(), compile_options);
    show(warnings, options->model.quiet);
    return static_cast<int>(kExitSuccess);
  };
}

}  // namespace

const Command kCheckCommand = {
    .name = "check",
    .summary = "print the errors and warnings of a model and a layout",
    .examples =
        "  mtfc check model.json\n"
        "  mtfc check model.json --mesh rows:2,cols:2 --layout batch:rows,hidden:cols",
    .setup = setup,
    .runs_nothing = true,
};

}  // namespace mtfc
