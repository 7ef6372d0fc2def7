#include "cmd/options/denied_warnings.h"

#include <algorithm>

#include "cmd/options/command_line.h"
#include "cmd/options/option_checks.h"

namespace mtfc {

void add_deny_option(CommandLine& line, std::string& denied) {
  line.set_group(OptionGroup::kOutput);
  line.add_hint("--strict", "errors instead of warnings: --deny warnings");
  line.add_option("--deny warnings", denied, "take warnings for errors, so that the exit code is 2")
      .check(one_of({"warnings"}));
}

bool deny(const std::string& denied, std::vector<Diagnostic>& found) {
  if (!denied.empty())
    for (Diagnostic& diagnostic : found)
      if (diagnostic.severity == Severity::kWarning) diagnostic.severity = Severity::kError;
  return std::any_of(found.begin(), found.end(),
                     [](const Diagnostic& diagnostic) { return diagnostic.severity == Severity::kError; });
}

}  // namespace mtfc
