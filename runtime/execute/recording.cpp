#include "runtime/execute/recording.h"

#include <utility>

namespace mtfc {
namespace {

template <typename ShardOf>
std::vector<PlacedShard> placed(Executor& executor, ShardOf shard_of) {
  std::vector<PlacedShard> shards;
  for (size_t device = 0; device < executor.devices(); ++device)
    shards.push_back({shard_of(device), executor.comm().devices()[device]});
  return shards;
}

Assembled assembled_value(Executor& executor, const EntryPoint& entry, ValueId id) {
  const Value& value = entry.values[id];
  return assembled(value.type, value.sharding,
                   placed(executor, [&](size_t device) { return executor.shard(entry, id, device); }));
}

std::map<std::string, Assembled> bound(Executor& executor, const EntryPoint& entry,
                                       const std::vector<Binding>& bindings) {
  std::map<std::string, Assembled> values;
  for (const Binding& binding : bindings)
    values.emplace(binding.name, assembled_value(executor, entry, binding.value));
  return values;
}

}  // namespace

std::map<std::string, Assembled> outputs_of(Executor& executor, const EntryPoint& entry) {
  return bound(executor, entry, entry.outputs);
}

std::map<std::string, Assembled> inputs_of(Executor& executor, const EntryPoint& entry) {
  return bound(executor, entry, entry.inputs);
}

std::vector<Assembled> variables_of(Executor& executor) {
  const std::vector<ProgramVariable>& variables = executor.program().variables;
  std::vector<Assembled> held;
  for (size_t v = 0; v < variables.size(); ++v)
    held.push_back(assembled(variables[v].decl.type, variables[v].sharding,
                             placed(executor, [&](size_t device) { return executor.variable(v, device); })));
  return held;
}

Recorder::Recorder(Executor& executor) : executor_(executor) {
  executor_.observe([this](const EntryPoint& entry, size_t step, double) { record(entry.steps[step]); });
}

Recorder::~Recorder() {
  executor_.observe({});
}

void Recorder::record(ValueId id) {
  const EntryPoint& entry = *recording_.entry;
  const auto append = [&](ValueId value) {
    recording_.values[value].push_back({assembled_value(executor_, entry, value), made_++});
  };
  if (entry.values[id].buffer == kNoBuffer) return;
  append(id);
  // A leaf that gets its new value is not read again.
  if (leaves_[id] && recording_.values[id].size() > 1) return;
  for (const ValueId alias : aliases_[id]) append(alias);
}

void Recorder::record(const Step& step) {
  if (step.kind() == StepKind::kStart) return;
  if (step.kind() == StepKind::kFused) {
    for (const Step& member : step.members()) record(member);
    return;
  }
  for (const ValueId id : step.outputs) record(id);
}

Recording Recorder::run(const EntryPoint& entry, int64_t step) {
  recording_ = {&entry, step, PerValue<std::vector<Record>>(entry.values.size()), {}, variables_of(executor_),
                {}};
  made_ = 0;
  aliases_ = aliases_of(entry);
  executor_.load(entry);
  leaves_ = leaves_of(entry);
  for (const ValueId id : leaves_.ids())
    if (leaves_[id]) record(id);
  executor_.run(entry, step);
  recording_.outputs = outputs_of(executor_, entry);
  recording_.variables = variables_of(executor_);
  return std::exchange(recording_, {});
}

}  // namespace mtfc
