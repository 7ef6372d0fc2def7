#include "core/program/plan.h"

#include "core/program/program.h"

namespace mtfc {
namespace {

void add(const std::vector<ProgramVariable>& variables, Shardings& shardings) {
  for (const ProgramVariable& variable : variables) shardings.emplace(variable.decl.name, variable.sharding);
}

}  // namespace

const Shardings& Plan::of(const std::string& entry) const {
  static const Shardings kNone;
  const auto at = tensors.find(entry);
  return at != tensors.end() ? at->second : kNone;
}

Plan with_variables(Plan plan, const Program& program) {
  add(program.variables, plan.variables);
  for (const EntryPoint& entry : program.entry_points) add(entry.caches, plan.variables);
  return plan;
}

Plan with_shardings(Plan plan, const Program& program, const EntryPoint& entry) {
  add(program.variables, plan.variables);
  Shardings& tensors = plan.tensors[entry.name];
  for (const Step& step : entry.steps)
    for (const ValueId id : step.outputs) {
      const Value& value = entry.values[id];
      if (value.name == tensor_name(value) && value.sharding.partial.empty())
        tensors.emplace(value.name, value.sharding);
    }
  return plan;
}

}  // namespace mtfc
