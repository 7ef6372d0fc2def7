#include "cmd/options/gather_warnings.h"

#include "cmd/options/entry_choice.h"
#include "core/explain/costly_gathers.h"
#include "formats/report/explanation_writer.h"

namespace mtfc {

std::vector<Diagnostic> gather_warnings(const CompiledModel& compiled, const std::string& entry) {
  const auto& [model, layout, options, program] = compiled;
  const std::string name =
      chosen_entry(entry, [&](std::string_view known) { return program.find(known) != nullptr; });
  if (!may_gather(program, *program.find(name))) return {};
  const ExplainedProgram explained(model, layout, options, program, *program.find(name));
  std::vector<Diagnostic> warnings;
  for (const CostlyGather& gather : costly_gathers(explained))
    warnings.push_back(warning_of(gather, {explained}));
  return warnings;
}

}  // namespace mtfc
