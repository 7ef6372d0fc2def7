#include "core/lower/value_uses.h"

namespace mtfc {

ValueUses::ValueUses(const PartitionedEntry& made)
    : maker(made.entry.values.size()), readers(made.entry.values.size()), is_kept(made.entry.values.size()) {
  for (const StepIndex s : made.entry.steps.ids()) {
    const Step& step = made.entry.steps[s];
    if (step.kind() == StepKind::kWait) continue;
    for (const ValueId id : step.inputs) readers[id].push_back(s);
    for (const ValueId id : step.outputs) maker[id] = s;
  }
  for (const Value& value : made.entry.values)
    if (value.alias_of != kNoValue) is_kept[value.alias_of] = true;
  for (const Binding& output : made.entry.outputs) is_kept[output.value] = true;
  for (const auto& [variable, fresh] : made.assignments) is_kept[variable] = is_kept[fresh] = true;
}

}  // namespace mtfc
