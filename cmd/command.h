#pragma once
// A subcommand of mtfc: a row of the table in command.cpp.

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace mtfc {

class CommandLine;

struct Command {
  const char* name;
  const char* summary;      // one line, for the list of commands
  const char* description;  // sentences, for the man page
  const char* examples;     // shown below the options
  /// Adds the options to `line` and returns the function to call once they are parsed; that returns the exit
  /// code, or throws UserError, RunError or InternalError.
  std::function<int()> (*setup)(CommandLine& line);
};

/// All of them, in the order of the alphabet.
std::span<const Command* const> all_commands();

/// Runs the command that the words after `mtfc` name, and returns its exit code. Throws as commands do.
int run_command_line(const std::vector<std::string>& words);

extern const Command kCalibrateCommand;
extern const Command kCheckCommand;
extern const Command kCompileCommand;
extern const Command kCompletionCommand;
extern const Command kCostReportCommand;
extern const Command kDiffCommand;
extern const Command kExplainCommand;
extern const Command kExportCommand;
extern const Command kGenerateCommand;
extern const Command kHelpCommand;
extern const Command kImportCommand;
extern const Command kManCommand;
extern const Command kOpsCommand;
extern const Command kPredictCommand;
extern const Command kReportCommand;
extern const Command kRunCommand;
extern const Command kSchemaCommand;
extern const Command kSearchCommand;
extern const Command kShowCommand;
extern const Command kSlurmCommand;
extern const Command kTokenizeCommand;
extern const Command kValidateCommand;
extern const Command kVerifyCommand;
extern const Command kWeightsCommand;

}  // namespace mtfc
