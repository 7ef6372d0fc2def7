#include "core/program/collective_cost.h"

#include <algorithm>
#include <optional>

#include "core/diagnostics/error.h"
#include "core/program/piece_map.h"
#include "core/tensors/relayout.h"

namespace mtfc {
namespace {

int64_t local_elements(const Value& value, const Mesh& mesh, const Coordinates& at) {
  return elements(local_box(value.type.dims, value.sharding, mesh, at));
}

// The smallest region of `value` that a member of the group around `at` holds.
int64_t smallest_share(const Value& value, const AxisList& axes, const Mesh& mesh, const Coordinates& at) {
  int64_t smallest = INT64_MAX;
  for (int64_t member = 0; member < mesh.size(axes); ++member)
    smallest = std::min(smallest, local_elements(value, mesh, mesh.moved(at, axes, member)));
  return smallest;
}

// Elements that the device at `at` sends to the other members of its group.
int64_t sent_elements(const EntryPoint& entry, const Step& step, const Mesh& mesh, const Coordinates& at) {
  const std::optional<PieceMap> pieces =
      step.op() ? std::optional<PieceMap>(piece_map_of(entry, step)) : std::nullopt;
  const Value& to = entry.values[step.outputs[0]];
  const int64_t own = mesh.index(at, step.collective().axes);
  int64_t sent = 0;
  for (size_t k = 0; k < step.inputs.size(); ++k) {
    const Value& from = entry.values[step.inputs[k]];
    const Box mine = local_box(from.type.dims, from.sharding, mesh, at);
    for (int64_t member = 0; member < mesh.size(step.collective().axes); ++member) {
      if (member == own) continue;
      const Box theirs =
          local_box(to.type.dims, to.sharding, mesh, mesh.moved(at, step.collective().axes, member));
      sent += pieces ? pieces->common_elements(k, mine, theirs)
                     : common_elements(from.type.dims, mine, to.type.dims, theirs);
    }
  }
  return sent;
}

}  // namespace

CollectiveCost collective_cost(CollectiveKind kind, const CollectiveAmounts& amounts, int64_t unit_bytes) {
  CollectiveCost cost = facts_of(kind).cost(amounts);
  cost.bytes_sent *= unit_bytes;
  return cost;
}

CollectiveCost collective_cost(const EntryPoint& entry, const Step& step, const Mesh& mesh,
                               const Coordinates& at) {
  const Value &from = entry.values[step.inputs[0]], &to = entry.values[step.outputs[0]];
  CollectiveAmounts amounts;
  amounts.in = local_elements(from, mesh, at);
  amounts.out = local_elements(to, mesh, at);
  const AxisList& axes = step.collective().axes;
  switch (facts_of(step.collective().kind).share) {
    case CostShare::kFlatPart:
      amounts.share = amounts.in / mesh.size(axes);
      break;
    case CostShare::kSmallestInput:
      amounts.share = smallest_share(from, axes, mesh, at);
      break;
    case CostShare::kSmallestOutput:
      amounts.share = smallest_share(to, axes, mesh, at);
      break;
    case CostShare::kSent:
      amounts.share = sent_elements(entry, step, mesh, at);
      break;
  }
  return collective_cost(step.collective().kind, amounts, size_of(from.type.dtype));
}

int64_t estimated_bytes_sent(CollectiveKind kind, int64_t in, int64_t out, int64_t members) {
  CollectiveAmounts amounts{in, out, 0};
  switch (facts_of(kind).share) {
    case CostShare::kFlatPart:
    case CostShare::kSmallestOutput:
      amounts.share = in / members;
      break;
    case CostShare::kSmallestInput:
      amounts.share = out / members;
      break;
    case CostShare::kSent:
      amounts.share = out - out / members;
      break;
  }
  return collective_cost(kind, amounts, 1).bytes_sent;
}

int64_t collective_workspace(const EntryPoint& entry, const Step& step, const Mesh& mesh) {
  if (works_in_place(step.collective().kind)) return 0;
  const auto largest = [&](ValueId id) {
    const Value& value = entry.values[id];
    return elements(largest_dims(value.type.dims, value.sharding, mesh)) * size_of(value.type.dtype);
  };
  const AxisList kept = split_axes(entry.values[step.outputs[0]].sharding);
  int64_t copies = 1;  // receivers of one element
  if (facts_of(step.collective().kind).general)
    for (const int axis : step.collective().axes)
      if (!contains(kept, axis)) copies *= mesh.size(axis);
  int64_t sent = 0;
  for (const ValueId id : step.inputs) sent += largest(id) * copies;
  return aligned(sent) + aligned(largest(step.outputs[0]));
}

}  // namespace mtfc
