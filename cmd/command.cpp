#include "cmd/command.h"

namespace mtfc {

std::span<const Command* const> all_commands() {
  static constexpr const Command* kCommands[] = {
      &kCalibrateCommand, &kCheckCommand,   &kCompileCommand,  &kCompletionCommand, &kCostReportCommand,
      &kDiffCommand,      &kExplainCommand, &kGenerateCommand, &kHelpCommand,       &kManCommand,
      &kOpsCommand,       &kReportCommand,  &kRunCommand,      &kSchemaCommand,     &kSearchCommand,
      &kShowCommand,      &kSlurmCommand,   &kVerifyCommand};
  return kCommands;
}

}  // namespace mtfc
