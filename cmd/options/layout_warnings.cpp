#include "cmd/options/layout_warnings.h"

#include <algorithm>

#include "cmd/options/command_line.h"
#include "cmd/options/entry_choice.h"
#include "cmd/options/option_checks.h"
#include "core/explain/costly_gathers.h"
#include "core/explain/waste.h"
#include "formats/report/explanation_writer.h"
#include "formats/report/waste_writer.h"

namespace mtfc {

std::vector<Diagnostic> waste_warnings(const Program& program, const EntryPoint& entry,
                                       int64_t device_memory) {
  return warnings_of(waste_of(program, entry), program.mesh(), device_memory);
}

std::vector<Diagnostic> idle_warnings(const Program& program, const EntryPoint& entry) {
  Waste waste = waste_of(program, entry);
  std::erase_if(waste.uneven, [](const UnevenSplit& split) { return split.empty == 0; });
  waste.state.reset();
  return warnings_of(waste, program.mesh(), 0);
}

std::vector<Diagnostic> layout_warnings(const CompiledModel& compiled, const std::string& entry) {
  const auto& [model, layout, options, program, device_memory] = compiled;
  const EntryPoint& looked_at = chosen_entry(entry, program);
  std::vector<Diagnostic> warnings = waste_warnings(program, looked_at, device_memory);
  if (!may_gather(program, looked_at)) return warnings;
  const ExplainedProgram explained(model, layout, options, program, looked_at);
  ExplanationStyle style{explained};
  style.device_memory = device_memory;
  for (const CostlyGather& gather : costly_gathers(explained)) warnings.push_back(warning_of(gather, style));
  if (const std::optional<RepeatedGathers> repeated = gathers_in_microbatches(explained))
    warnings.push_back(note_of(*repeated, style));
  return warnings;
}

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
