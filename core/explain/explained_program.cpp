#include "core/explain/explained_program.h"

#include <algorithm>

#include "core/model/entry_points.h"

namespace mtfc {
namespace {

CompileOptions trial_options(const CompileOptions& given, const std::string& entry) {
  CompileOptions options = given.unwatched();
  options.entries = {entry};
  options.decode = is_for_generation(entry);
  options.dump_after.clear();
  return options;
}

}  // namespace

ExplainedProgram::ExplainedProgram(const Model& of_model, const Layout& of_layout,
                                   const CompileOptions& compiled_with, const Program& of_program,
                                   const EntryPoint& of_entry)
    : model(of_model),
      layout(of_layout),
      program(of_program),
      entry(of_entry),
      options(trial_options(compiled_with, of_entry.name)),
      names(of_model, of_entry.name),
      reshards(reshard_steps(of_program, of_entry)),
      figures(figures_of(of_program, of_entry, compiled_with.hardware)) {}

std::vector<const Value*> forms_of(const EntryPoint& entry, const std::string& tensor) {
  std::vector<const Value*> forms;
  for (const Value& value : entry.values)
    if (tensor_name(value) == tensor) forms.push_back(&value);
  std::stable_sort(forms.begin(), forms.end(),
                   [&](const Value* a, const Value* b) { return (a->name == tensor) > (b->name == tensor); });
  return forms;
}

}  // namespace mtfc
