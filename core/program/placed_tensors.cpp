#include "core/program/placed_tensors.h"

#include <algorithm>
#include <set>

namespace mtfc {

std::vector<PlacedTensor> placed_tensors(const Program& program, const EntryPoint& entry) {
  std::vector<PlacedTensor> tensors;
  std::set<std::string> known;
  const auto add = [&](PlacedTensor tensor) {
    if (known.insert(tensor.name).second) tensors.push_back(std::move(tensor));
  };
  const auto add_value = [&](const std::string& name, TensorRole role, ValueId id) {
    const Value& value = entry.values[id];
    add({name, role, value.type, value.sharding});
  };
  for (const Binding& input : entry.inputs) add_value(input.name, TensorRole::kInput, input.value);
  for (const ProgramVariable& variable : program.variables) {
    const TensorRole role = variable.decl.optimizer_state ? TensorRole::kState : TensorRole::kVariable;
    add({variable.decl.name, role, variable.decl.type, variable.sharding});
  }
  for (const ProgramVariable& cache : entry.caches)
    add({cache.decl.name, TensorRole::kCache, cache.decl.type, cache.sharding});
  for (const Binding& output : entry.outputs) add_value(output.name, TensorRole::kOutput, output.value);
  for (const Value& value : entry.values)
    if (value.from_model) add({value.name, TensorRole::kComputed, value.type, value.sharding});
  std::stable_sort(tensors.begin(), tensors.end(),
                   [](const PlacedTensor& a, const PlacedTensor& b) { return a.role < b.role; });
  return tensors;
}

std::string state_owner(const PlacedTensor& tensor) {
  return tensor.name.substr(0, tensor.name.find_last_of('/'));
}

}  // namespace mtfc
