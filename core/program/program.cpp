#include "core/program/program.h"

#include <algorithm>
#include <array>

#include "core/diagnostics/error.h"
#include "core/diagnostics/suggest.h"

namespace mtfc {

std::string tensor_name(std::string_view value) {
  return std::string(value.substr(0, value.find('@')));
}

bool is_control(StepKind kind) {
  return kind == StepKind::kLoop || kind == StepKind::kLeave || kind == StepKind::kRepeat;
}

namespace {

// Per alternative of Action, in its order.
constexpr std::array kKindOf = {StepKind::kKernel, StepKind::kFused, StepKind::kRing, StepKind::kSlice,
                                StepKind::kStart,  StepKind::kWait,  StepKind::kLoop, StepKind::kLoop,
                                StepKind::kLeave,  StepKind::kRepeat};
static_assert(kKindOf.size() == std::variant_size_v<Action>);

const RunKernel* operation_of(const Step& step) {
  if (const auto* kernel = step.as<RunKernel>()) return kernel;
  if (const auto* ring = step.as<RunRing>()) return &ring->product;
  const auto* start = step.as<StartCollective>();
  return start ? &start->moves : nullptr;
}

}  // namespace

StepKind Step::kind() const {
  return kKindOf[action.index()];
}

const OpDef* Step::op() const {
  const RunKernel* operation = operation_of(*this);
  return operation ? operation->op : nullptr;
}

bool Step::multiplies() const {
  return (kind() == StepKind::kKernel || kind() == StepKind::kRing) && is_product(*op());
}

const Attributes& Step::attributes() const {
  static const Attributes kNone;
  const RunKernel* operation = operation_of(*this);
  return operation ? operation->attributes : kNone;
}

const Collective& Step::collective() const {
  if (const auto* start = as<StartCollective>()) return start->collective;
  const auto* wait = as<AwaitCollective>();
  check_invariant(wait != nullptr, "a step that is no collective is asked for one");
  return wait->collective;
}

const std::vector<Step>& Step::members() const {
  static const std::vector<Step> kNone;
  const auto* fused = as<RunFused>();
  return fused ? fused->members : kNone;
}

const EntryPoint* Program::find(std::string_view name) const {
  return find_named(entry_points, name);
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
    if (const auto* loop = step.as<BeginLoop>())
      rounds.push_back(rounds.back() * std::max<int64_t>(loop->times, 1));
    counts.push_back(rounds.back());
    if (step.as<RepeatLoop>()) rounds.pop_back();
  }
  return counts;
}

ValueId root_of(const EntryPoint& entry, ValueId value) {
  while (entry.values[value].alias_of != kNoValue) value = entry.values[value].alias_of;
  return value;
}

int64_t largest_bytes(const EntryPoint& entry, ValueId value, const Mesh& mesh) {
  return largest_bytes(entry.values[value].type, entry.values[value].sharding, mesh);
}

std::vector<TensorType> global_types(const EntryPoint& entry, const std::vector<ValueId>& values) {
  std::vector<TensorType> types;
  for (const ValueId id : values) types.push_back(entry.values[id].type);
  return types;
}

std::vector<LocalType> local_types(const EntryPoint& entry, const std::vector<ValueId>& values,
                                   const Mesh& mesh, const Coordinates& at) {
  std::vector<LocalType> types;
  for (const ValueId id : values) {
    const Value& value = entry.values[id];
    types.push_back({value.type.dtype, local_dims(value.type.dims, value.sharding, mesh, at)});
  }
  return types;
}

std::vector<LocalType> largest_types(const EntryPoint& entry, const std::vector<ValueId>& values,
                                     const Mesh& mesh) {
  std::vector<LocalType> types;
  for (const ValueId id : values) {
    const Value& value = entry.values[id];
    types.push_back({value.type.dtype, largest_dims(value.type.dims, value.sharding, mesh)});
  }
  return types;
}

}  // namespace mtfc
