#include "core/program/ring.h"

#include <algorithm>

#include "core/diagnostics/error.h"
#include "core/program/collective_cost.h"
#include "core/tensors/alignment.h"

namespace mtfc {
namespace {

bool ends_with(const AxisList& split, const AxisList& axes) {
  if (axes.empty() || split.size() < axes.size()) return false;
  AxisList minor(split.end() - static_cast<std::ptrdiff_t>(axes.size()), split.end());
  std::sort(minor.begin(), minor.end());
  return minor == axes;
}

}  // namespace

std::optional<size_t> turning_dim(const Sharding& sharding, const AxisList& axes) {
  for (size_t d = 0; d < sharding.dims.size(); ++d)
    if (ends_with(sharding.dims[d], axes)) return d;
  return std::nullopt;
}

ValueId turning_value(const Step& step) {
  switch (step.as<RunRing>()->turning) {
    case Turning::kFirst:
      return step.inputs.at(0);
    case Turning::kSecond:
      return step.inputs.at(1);
    case Turning::kResult:
      break;
  }
  return step.outputs.at(0);
}

Ring::Ring(const EntryPoint& entry, const Step& step, const Mesh& mesh)
    : entry_(entry), step_(step), mesh_(mesh), action_(*step.as<RunRing>()) {
  turning_ = turning_value(step);
  const Value& value = entry.values[turning_];
  const auto dim = turning_dim(value.sharding, action_.axes);
  check_invariant(dim.has_value(), "no dimension of a tensor turns in its ring");
  dim_ = *dim;
  adds_ = !passes_result() &&
          position(entry.values[step.outputs.at(0)].type.dims, value.type.dims[dim_].name) < 0;
}

bool Ring::adds_copies() const {
  const Sharding& result = entry_.values[step_.outputs[0]].sharding;
  const AxisList split = split_axes(result);
  return adds_ && std::any_of(action_.axes.begin(), action_.axes.end(),
                              [&](int axis) { return !contains(split, axis) && !result.is_partial(axis); });
}

Box Ring::slice(const Coordinates& at, size_t owner) const {
  const Value& value = entry_.values[turning_];
  return local_box(value.type.dims, value.sharding, mesh_,
                   mesh_.moved(at, action_.axes, static_cast<int64_t>(owner)));
}

// The device's box of a value that does not turn, cut to `interval` along the dimension that turns.
Box Ring::narrowed(ValueId id, const Coordinates& at, const Interval& interval) const {
  const Value& value = entry_.values[id];
  Box box = local_box(value.type.dims, value.sharding, mesh_, at);
  const int dim = position(value.type.dims, entry_.values[turning_].type.dims[dim_].name);
  if (dim >= 0) box[static_cast<size_t>(dim)] = interval;
  return box;
}

RingTurn Ring::turn(const Coordinates& at, size_t owner) const {
  const Box own = slice(at, owner);
  const auto box_of = [&](ValueId id, bool turns) { return turns ? own : narrowed(id, at, own[dim_]); };
  return {{box_of(step_.inputs[0], action_.turning == Turning::kFirst),
           box_of(step_.inputs[1], action_.turning == Turning::kSecond)},
          box_of(step_.outputs[0], passes_result()),
          own[dim_]};
}

Sharding Ring::at_once(ValueId id) const {
  Sharding sharding = entry_.values[id].sharding;
  AxisList& split = sharding.dims[dim_];
  split.resize(split.size() - action_.axes.size());
  return sharding;
}

std::vector<Sharding> Ring::operands_at_once() const {
  std::vector<Sharding> shardings;
  for (size_t i = 0; i < 2; ++i) {
    const bool turns = action_.turning == (i == 0 ? Turning::kFirst : Turning::kSecond);
    shardings.push_back(turns ? at_once(turning_) : entry_.values[step_.inputs[i]].sharding);
  }
  return shardings;
}

Sharding Ring::result_at_once() const {
  if (!passes_result()) return entry_.values[step_.outputs[0]].sharding;
  Sharding sharding = at_once(turning_);
  for (const int axis : action_.axes) sharding.partial.push_back({axis, ReduceKind::kSum});
  std::sort(sharding.partial.begin(), sharding.partial.end());
  return sharding;
}

int64_t Ring::flops(const Coordinates& at) const {
  const auto local = [&](ValueId id, const Sharding& sharding) {
    const TensorType& type = entry_.values[id].type;
    return LocalType{type.dtype, local_dims(type.dims, sharding, mesh_, at)};
  };
  const std::vector<Sharding> shardings = operands_at_once();
  const std::vector<LocalType> operands = {local(step_.inputs[0], shardings[0]),
                                           local(step_.inputs[1], shardings[1])};
  const std::vector<LocalType> results = {local(step_.outputs[0], result_at_once())};
  return step_.op()->flops({step_.attributes(), operands}, results);
}

CollectiveCost Ring::largest_cost() const {
  const Value& value = entry_.values[turning_];
  const Sharding whole = at_once(turning_);
  const CollectiveKind kind = passes_result() ? CollectiveKind::kReduceScatter : CollectiveKind::kAllGather;
  const Sharding& from = passes_result() ? whole : value.sharding;
  const Sharding& to = passes_result() ? value.sharding : whole;
  CollectiveCost cost =
      largest_gather_cost({kind, action_.axes}, {value.type.dims, from, to, mesh_}, value.type.dtype);
  cost.elements = cost.bytes_sent / size_of(value.type.dtype);
  return cost;
}

std::array<EinsumTensor, 3> Ring::tensors(const Coordinates& at, size_t owner) const {
  const RingTurn turn = this->turn(at, owner);
  const auto tensor = [&](ValueId id, const Box& box) {
    const Value& value = entry_.values[id];
    return EinsumTensor({value.type.dtype, local_dims(value.type.dims, box)}, has_gaps(id));
  };
  return {tensor(step_.inputs[0], turn.operands[0]), tensor(step_.inputs[1], turn.operands[1]),
          tensor(step_.outputs[0], turn.result)};
}

bool Ring::has_gaps(ValueId id) const {
  const std::string& dim = entry_.values[turning_].type.dims[dim_].name;
  return id != turning_ && position(entry_.values[id].type.dims, dim) > 0;
}

RingWorkspace Ring::workspace() const {
  RingWorkspace workspace;
  workspace.slice_bytes = aligned(largest_bytes(entry_, turning_, mesh_));
  // An operand's slice that is multiplied, and the one that arrives meanwhile; at first, the device's own one is
  // multiplied. Of results, one that arrives and one that leaves, beside that which is computed in the result's place.
  workspace.slices = passes_result() ? 2 : std::min<int64_t>(2, static_cast<int64_t>(members()) - 1);
  const Coordinates last = mesh_.last();
  const auto [first, second, result] = tensors(last, self(last));
  workspace.product_bytes = plan_einsum(first, second, result).workspace_bytes;
  return workspace;
}

}  // namespace mtfc
