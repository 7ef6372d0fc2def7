#include "core/program/collective_cost.h"

#include <utility>

#include "core/diagnostics/error.h"
#include "core/diagnostics/stop.h"
#include "core/program/sent_elements.h"

namespace mtfc {
namespace {

// The smallest size of a shard of a dimension among devices that differ from the one at `at` on the axes of `group`.
int64_t smallest_size(int64_t size, const AxisList& axes, const AxisList& group, const Mesh& mesh,
                      Coordinates at) {
  const int64_t parts = mesh.size(axes);
  if (size % parts == 0) return size / parts;
  AxisList varied;
  for (const int axis : axes)
    if (contains(group, axis)) varied.push_back(axis);
  if (varied.size() == axes.size()) return size / parts;
  // Shards have one of two sizes, so there is nothing to look for behind the first small one.
  const int64_t least = size / parts;
  for (int64_t member = 0; member < mesh.size(varied); ++member) {
    if (member % 4096 == 4095) check_stop();
    at = mesh.moved(std::move(at), varied, member);
    if (shard_interval(size, parts, mesh.index(at, axes)).size() == least) return least;
  }
  return least + 1;
}

// The smallest region of a tensor that a member of the group around `at` holds. No axis splits two dimensions, so the
// sizes along them vary independently.
int64_t smallest_share(const MovedTensor& tensor, const AxisList& group, const Mesh& mesh,
                       const Coordinates& at) {
  int64_t share = 1;
  for (size_t d = 0; d < tensor.dims.size(); ++d)
    share *= smallest_size(tensor.dims[d].size, tensor.sharding.dims[d], group, mesh, at);
  return share;
}

// The amounts of a collective on the device at `at`. `sent` gives what it sends.
template <typename Sent>
CollectiveAmounts amounts_of(const Collective& collective, const MovedTensor& from, const MovedTensor& to,
                             const Mesh& mesh, const Coordinates& at, Sent sent) {
  CollectiveAmounts amounts;
  amounts.in = elements(local_box(from.dims, from.sharding, mesh, at));
  amounts.out = elements(local_box(to.dims, to.sharding, mesh, at));
  switch (facts_of(collective.kind).share) {
    case CostShare::kFlatPart:
      amounts.share = amounts.in / mesh.size(collective.axes);
      break;
    case CostShare::kSmallestInput:
      amounts.share = smallest_share(from, collective.axes, mesh, at);
      break;
    case CostShare::kSmallestOutput:
      amounts.share = smallest_share(to, collective.axes, mesh, at);
      break;
    case CostShare::kSent:
      amounts.share = sent();
      break;
  }
  return amounts;
}

// The amounts of a combined all_reduce: what its values come to if each is sent alone.
CollectiveAmounts amounts_of_all(const EntryPoint& entry, const Step& step, const Mesh& mesh,
                                 const Coordinates& at) {
  CollectiveAmounts amounts;
  for (const ValueId id : step.inputs) {
    const int64_t count =
        elements(local_box(entry.values[id].type.dims, entry.values[id].sharding, mesh, at));
    amounts.in += count;
    amounts.out += count;
    amounts.share += count / mesh.size(step.collective().axes);
  }
  return amounts;
}

template <typename Sent>
CollectiveCost cost_of(const EntryPoint& entry, const Step& step, const Mesh& mesh, const Coordinates& at,
                       Sent sent) {
  const Value &from = entry.values[step.inputs[0]], &to = entry.values[step.outputs[0]];
  CollectiveAmounts amounts = amounts_of(step.collective(), {from.type.dims, from.sharding},
                                         {to.type.dims, to.sharding}, mesh, at, sent);
  if (is_combined(step)) amounts = amounts_of_all(entry, step, mesh, at);
  return collective_cost(step.collective().kind, amounts, size_of(from.type.dtype));
}

}  // namespace

CollectiveCost collective_cost(CollectiveKind kind, const CollectiveAmounts& amounts, int64_t unit_bytes) {
  CollectiveCost cost = facts_of(kind).cost(amounts);
  cost.bytes_sent *= unit_bytes;
  return cost;
}

CollectiveCost collective_cost(const EntryPoint& entry, const Step& step, const Mesh& mesh,
                               const Coordinates& at) {
  return cost_of(entry, step, mesh, at, [&] { return sent_elements(entry, step, mesh).sent(at); });
}

CollectiveCost largest_collective_cost(const EntryPoint& entry, const Step& step, const Mesh& mesh) {
  // The last device has the largest shards.
  return cost_of(entry, step, mesh, mesh.last(), [&] { return sent_elements(entry, step, mesh).most(); });
}

CollectiveCost largest_gather_cost(const Collective& collective, const Resharding& change, DType dtype) {
  const CollectiveAmounts amounts = amounts_of(
      collective, {change.dims, change.from}, {change.dims, change.to}, change.mesh, change.mesh.last(),
      []() -> int64_t { throw InternalError("the cost of a ring depends on what is sent"); });
  return collective_cost(collective.kind, amounts, size_of(dtype));
}

int64_t planned_elements_sent(const Collective& collective, const Resharding& change) {
  const MovedTensor from{change.dims, change.from}, to{change.dims, change.to};
  const CollectiveAmounts amounts = amounts_of(collective, from, to, change.mesh, change.mesh.last(), [&] {
    return SentElements(from, to, collective.axes, change.mesh).most_or_bound();
  });
  return collective_cost(collective.kind, amounts, 1).bytes_sent;
}

bool is_combined(const Step& step) {
  const bool communicates = step.kind() == StepKind::kStart || step.kind() == StepKind::kWait;
  return communicates && step.inputs.size() > 1 && works_in_place(step.collective().kind);
}

int64_t collective_workspace(const EntryPoint& entry, const Step& step, const Mesh& mesh) {
  if (is_combined(step))
    return amounts_of_all(entry, step, mesh, mesh.last()).in *
           size_of(entry.values[step.inputs[0]].type.dtype);
  if (works_in_place(step.collective().kind)) return 0;
  const auto largest = [&](ValueId id) { return largest_bytes(entry, id, mesh); };
  const Value& result = entry.values[step.outputs[0]];
  if (!result.sharding.windows.empty()) {
    // Most of what windows read is the device's own, which is not packed.
    const SentElements sent = sent_elements(entry, step, mesh);
    const int64_t size = size_of(result.type.dtype);
    return aligned(sent.most() * size) + aligned(sent.most_received() * size);
  }
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
