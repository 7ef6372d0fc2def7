// mtfc: the table of subcommands, and the only place that catches errors.

#include <cstdlib>
#include <iostream>
#include <map>
#include <new>

#include "cmd/command.h"
#include "cmd/launch/launch.h"
#include "cmd/options/command_line.h"
#include "cmd/terminal/standard_output.h"
#include "core/diagnostics/error.h"

namespace mtfc {
namespace {

const Command* const kCommands[] = {&kCalibrateCommand, &kCheckCommand, &kCompileCommand, &kCostReportCommand,
                                    &kGenerateCommand,  &kOpsCommand,   &kRunCommand,     &kSchemaCommand,
                                    &kSearchCommand,    &kVerifyCommand};

bool use_color = false;

void show_error(std::string text, const std::string& word) {
  const size_t at = text.find(word);
  if (use_color && at != std::string::npos)
    text = text.substr(0, at) + "\033[1;31m" + word + "\033[0m" + text.substr(at + word.size());
  std::cerr << text + "\n";
}

void show(const UserError& error) {
  for (const Diagnostic& diagnostic : error.diagnostics())
    show_error((diagnostic.location.file.empty() ? "mtfc: " : "") + to_string(diagnostic), "error:");
}

// `mtfc help` and `mtfc help run` are other ways to write `--help`.
std::vector<std::string> arguments_of(int argc, char** argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  if (!arguments.empty() && arguments[0] == "help") {
    arguments.erase(arguments.begin());
    arguments.emplace_back("--help");
  }
  return arguments;
}

int run(int argc, char** argv) {
  const std::string version = std::string("mtfc ") + MTFC_VERSION;
  CommandParser parser(
      "mtfc",
      "mtfc compiles and runs distributed tensor programs: a model with named dimensions and a "
      "layout give one SPMD program of BLAS kernels and MPI collectives.",
      version);
  bool no_color = false;
  std::map<std::string, std::function<int()>> actions;
  for (const Command* command : kCommands) {
    CommandLine line = parser.add_command(command->name, command->summary);
    line.add_flag("--no-color", no_color, "no colours on a terminal");
    line.add_version_flag(version);
    line.set_footer(std::string("Examples:\n") + command->examples);
    actions[command->name] = command->setup(line);
  }
  const Request request = parser.parse(arguments_of(argc, argv));
  if (request.answer) {
    std::cout << *request.answer;
    return kExitSuccess;
  }
  use_color = !no_color && !std::getenv("NO_COLOR") && is_terminal(2);
  if (request.command.empty()) {
    std::cerr << parser.help();
    return kExitUserError;
  }
  return actions.at(request.command)();
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
  } catch (const UserError& error) {
    show(error);
    return kExitUserError;
  } catch (const RunError& error) {
    show_error(std::string("mtfc: error: ") + error.what(), "error:");
    return kExitRunFailed;
  } catch (const std::bad_alloc&) {
    show_error("mtfc: error: out of memory", "error:");
    return kExitRunFailed;
  } catch (const std::exception& error) {
    show_error(std::string("mtfc: internal error: ") + error.what() +
                   "\nThis is a bug in mtfc. Please report it with the model, the layout and the command.",
               "internal error:");
    return kExitInternalError;
  }
}
