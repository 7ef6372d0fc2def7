#include "cmd/options/gather_warnings.h"

#include "cmd/options/entry_choice.h"
#include "core/explain/costly_gathers.h"
#include "formats/report/explanation_writer.h"

namespace mtfc {

void add_gather_warnings(const CompiledModel& compiled, const std::string& entry,
                         std::vector<Diagnostic>& warnings) {
  const auto& [model, layout, options, program] = compiled;
  const std::string name =
      chosen_entry(entry, [&](std::string_view known) { return program.find(known) != nullptr; });
  const EntryPoint& looked_at = *program.find(name);
  const std::vector<CostlyGather> gathers =
      costly_gathers({model, layout, options, program, looked_at, nullptr});
  if (gathers.empty()) return;
  const ModelNames names(model, name);
  for (const CostlyGather& gather : gathers)
    warnings.push_back(warning_of(gather, {program, looked_at, names}));
}

}  // namespace mtfc
