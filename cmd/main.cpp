// mtfc: the table of subcommands, and the only place that catches errors.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <map>

#include "cmd/command.h"
#include "cmd/launch/launch.h"
#include "cmd/options/option_checks.h"
#include "cmd/terminal/error_text.h"
#include "cmd/terminal/standard_output.h"
#include "core/diagnostics/error.h"

namespace mtfc {
namespace {

const Command* const kCommands[] = {&kCalibrateCommand, &kCheckCommand, &kCompileCommand, &kCostReportCommand,
                                    &kGenerateCommand,  &kOpsCommand,   &kRunCommand,     &kSchemaCommand,
                                    &kSearchCommand,    &kVerifyCommand};

bool use_color = false;

int show(const std::exception& error) {
  std::cerr << error_text(error, use_color);
  return exit_code(error);
}

int show(const CLI::ParseError& error, const CLI::App& app) {
  if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) return app.exit(error);
  std::vector<std::string> commands;
  for (const Command* command : kCommands) commands.emplace_back(command->name);
  return show(parse_error(error, app, commands));
}

// `mtfc help` and `mtfc help run` are other ways to write `--help`.
std::vector<std::string> arguments_of(int argc, char** argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  if (!arguments.empty() && arguments[0] == "help") {
    arguments.erase(arguments.begin());
    arguments.emplace_back("--help");
  }
  std::reverse(arguments.begin(), arguments.end());  // as CLI11 takes them
  return arguments;
}

int run(int argc, char** argv) {
  CLI::App app{
      "mtfc compiles and runs distributed tensor programs: a model with named dimensions and a layout give "
      "one "
      "SPMD program of BLAS kernels and MPI collectives."};
  app.name("mtfc");
  app.set_version_flag("--version", std::string("mtfc ") + MTFC_VERSION);
  app.require_subcommand(0, 1);
  bool no_color = false;
  std::map<const CLI::App*, std::function<int()>> actions;
  for (const Command* command : kCommands) {
    CLI::App* sub = app.add_subcommand(command->name, command->summary);
    sub->add_flag("--no-color", no_color, "no colours on a terminal");
    sub->set_version_flag("--version", std::string("mtfc ") + MTFC_VERSION);
    sub->footer(std::string("Examples:\n") + command->examples);
    actions[sub] = command->setup(*sub);
  }
  try {
    app.parse(arguments_of(argc, argv));
  } catch (const CLI::ParseError& error) {
    return show(error, app);
  }
  use_color = !no_color && !std::getenv("NO_COLOR") && is_terminal(2);
  if (app.get_subcommands().empty()) {
    std::cerr << app.help();
    return kExitUserError;
  }
  return actions.at(app.get_subcommands().front())();
}

}  // namespace
}  // namespace mtfc

int main(int argc, char** argv) {
  using namespace mtfc;
  try {
    watch_standard_output();
    const int code = run(argc, argv);
    flush_standard_output();
    return code;
  } catch (const std::exception& error) {
    return show(error);
  }
}
