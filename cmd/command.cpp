#include "cmd/command.h"

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <map>

#include "cmd/files/files.h"
#include "cmd/launch/launch.h"
#include "cmd/manual/topics.h"
#include "cmd/options/command_line.h"
#include "cmd/options/version.h"
#include "cmd/terminal/color.h"
#include "core/diagnostics/error.h"

namespace mtfc {

std::span<const Command* const> all_commands() {
  static constexpr const Command* kCommands[] = {
      &kCalibrateCommand, &kCheckCommand,    &kCompileCommand, &kCompletionCommand, &kCostReportCommand,
      &kDiffCommand,      &kExplainCommand,  &kExportCommand,  &kGenerateCommand,   &kHelpCommand,
      &kImportCommand,    &kManCommand,      &kOpsCommand,     &kPredictCommand,    &kReportCommand,
      &kRunCommand,       &kSchemaCommand,   &kSearchCommand,  &kShowCommand,       &kSlurmCommand,
      &kTokenizeCommand,  &kValidateCommand, &kVerifyCommand,  &kWeightsCommand};
  return kCommands;
}

int run_command_line(const std::vector<std::string>& words) {
  forget_files();
  const std::string version = version_text();
  CommandParser parser(
      "mtfc",
      "mtfc compiles and runs distributed tensor programs: a model with named dimensions and a "
      "layout become one SPMD program of BLAS kernels and MPI collectives.",
      version);
  bool no_color = false;
  std::map<std::string, std::function<int()>> actions;
  for (const Command* command : all_commands()) {
    CommandLine line = parser.add_command(command->name, command->summary);
    line.add_flag("--no-color", no_color, "print no colours on a terminal");
    line.add_version_flag(version);
    line.set_description(command->description);
    line.set_examples(command->examples);
    actions[command->name] = command->setup(line);
  }
  parser.set_width(terminal_width());
  parser.set_footer(topic_list(static_cast<size_t>(std::max(terminal_width(), 40))));
  const Request request = parser.parse(words);
  if (request.answer) {
    std::cout << *request.answer;
    return kExitSuccess;
  }
  const bool allows_colors = !no_color && !std::getenv("NO_COLOR");
  set_colors(allows_colors && is_terminal(1), allows_colors && is_terminal(2));
  if (request.command.empty()) {
    std::cerr << parser.help();
    return kExitUserError;
  }
  return actions.at(request.command)();
}

}  // namespace mtfc
