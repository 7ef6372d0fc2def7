#include "core/program/program.h"

#include <algorithm>

namespace mtfc {

bool is_control(StepKind kind) {
  return kind == StepKind::kLoop || kind == StepKind::kLeave || kind == StepKind::kRepeat;
}

const EntryPoint* Program::find(std::string_view name) const {
  for (const EntryPoint& entry : entry_points)
    if (entry.name == name) return &entry;
  return nullptr;
}

int64_t Program::arena_bytes() const {
  int64_t bytes = 0;
  for (const ProgramVariable& variable : variables) bytes = std::max(bytes, variable.offset + variable.bytes);
  for (const EntryPoint& entry : entry_points) bytes = std::max(bytes, entry.arena_bytes);
  return bytes;
}

std::vector<int64_t> repetitions(const EntryPoint& entry) {
  std::vector<int64_t> counts;
  std::vector<int64_t> rounds = {1};
  for (const Step& step : entry.steps) {
    if (step.kind == StepKind::kLoop) rounds.push_back(rounds.back() * std::max<int64_t>(step.times, 1));
    counts.push_back(rounds.back());
    if (step.kind == StepKind::kRepeat) rounds.pop_back();
  }
  return counts;
}

ValueId root_of(const EntryPoint& entry, ValueId value) {
  while (entry.values[static_cast<size_t>(value)].alias_of >= 0)
    value = entry.values[static_cast<size_t>(value)].alias_of;
  return value;
}

std::vector<TensorType> global_types(const EntryPoint& entry, const std::vector<ValueId>& values) {
  std::vector<TensorType> types;
  for (const ValueId id : values) types.push_back(entry.values[static_cast<size_t>(id)].type);
  return types;
}

std::vector<TensorType> local_types(const EntryPoint& entry, const std::vector<ValueId>& values,
                                    const Mesh& mesh, const Coordinates& at) {
  std::vector<TensorType> types;
  for (const ValueId id : values) {
    const Value& value = entry.values[static_cast<size_t>(id)];
    types.push_back({value.type.dtype, local_dims(value.type.dims, value.sharding, mesh, at)});
  }
  return types;
}

}  // namespace mtfc
