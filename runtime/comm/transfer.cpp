#include "runtime/comm/transfer.h"

#include <algorithm>
#include <cstring>

#include "core/diagnostics/error.h"
#include "core/program/sent_elements.h"

namespace mtfc {
namespace {

// The coordinates on the mesh of all members of a group.
std::vector<Coordinates> members_of(const Mesh& mesh, const Coordinates& at, const AxisList& axes) {
  std::vector<Coordinates> members;
  for (int64_t index = 0; index < mesh.size(axes); ++index) members.push_back(mesh.moved(at, axes, index));
  return members;
}

struct Sides {
  const Value& input;
  const Value& output;
};

// An exchange that does the work of an operation: the operands' shards go straight to their offsets in the
// result.
void plan_pieces(CollectivePlan& plan, const EntryPoint& entry, const Step& step, const Mesh& mesh,
                 const std::vector<Coordinates>& members) {
  const PieceMap map = piece_map_of(entry, step);
  const Place& output = plan.output;
  const int64_t size = size_of(plan.dtype);
  plan.sends.resize(members.size());
  plan.receives.resize(members.size());
  int64_t needed = 0;
  for (size_t k = 0; k < step.inputs.size(); ++k) {
    const Place own = place_of(entry, step.inputs[k], mesh, members[plan.self]);
    const int64_t distance = (own.offset - plan.input.offset) / size;
    needed += map.common_elements(k, whole_box(own.type.dims), output.box);
    const auto append = [&](const Box& from, const Box& to, std::vector<Run>& runs) {
      const size_t before = runs.size();
      map.append_runs(k, from, to, runs);
      for (size_t i = before; i < runs.size(); ++i) runs[i].from += distance;
    };
    for (size_t m = 0; m < members.size(); ++m) {
      append(own.box, place_of(entry, step.outputs[0], mesh, members[m]).box, plan.sends[m]);
      append(place_of(entry, step.inputs[k], mesh, members[m]).box, output.box, plan.receives[m]);
    }
  }
  int64_t arriving = 0;
  for (const std::vector<Run>& runs : plan.receives) arriving += elements(runs);
  check_invariant(arriving == needed, "an exchange of pieces does not find what its output takes");
  if (needed < output.elements()) plan.fill = element_bytes(map.fill(), plan.dtype);
}

void plan_runs(CollectivePlan& plan, const Sides& sides, const Mesh& mesh,
               const std::vector<Coordinates>& members) {
  const Dims& from = sides.input.type.dims;
  const Dims& to = sides.output.type.dims;
  for (const Coordinates& member : members) {
    const Box input = local_box(from, sides.input.sharding, mesh, member);
    const Box output = local_box(to, sides.output.sharding, mesh, member);
    plan.sends.push_back(common_runs(from, plan.input.box, to, output));
    plan.receives.push_back(common_runs(from, input, to, plan.output.box));
  }
}

// Places the values of an all_reduce of several one behind another in the workspace, as one value.
void plan_parts(CollectivePlan& plan, const EntryPoint& entry, const Step& step, const Mesh& mesh,
                const Coordinates& at) {
  const int64_t size = size_of(plan.dtype);
  int64_t count = 0;
  for (size_t i = 0; i < step.inputs.size(); ++i) {
    const Place operand = place_of(entry, step.inputs[i], mesh, at);
    plan.parts.push_back({operand.offset, place_of(entry, step.outputs[i], mesh, at).offset,
                          plan.workspace_offset + count * size, operand.elements() * size});
    count += operand.elements();
  }
  check_invariant(count * size <= plan.workspace_bytes, "an all_reduce has too little workspace");
  plan.input = {{plan.dtype, {{"elements", count}}}, {{0, count}}, plan.workspace_offset};
  plan.output = plan.input;
}

// A collective that moves elements is complete if the arriving runs cover the whole output; one that
// reduces is complete if the runs of each member cover the whole output.
void check_complete(const CollectivePlan& plan) {
  int64_t arriving = 0;
  for (const std::vector<Run>& runs : plan.receives) {
    arriving += elements(runs);
    if (reduces(plan.kind))
      check_invariant(elements(runs) == plan.output.elements(), "a reduction does not cover its output");
  }
  if (!reduces(plan.kind))
    check_invariant(arriving == plan.output.elements(), "a collective does not cover its output exactly");
}

}  // namespace

Place place_of(const EntryPoint& entry, ValueId value, const Mesh& mesh, const Coordinates& at) {
  const Value& v = entry.values[value];
  Place place{v.type, local_box(v.type.dims, v.sharding, mesh, at), 0};
  if (v.buffer != kNoBuffer) place.offset = entry.buffers[v.buffer].offset;
  return place;
}

CollectivePlan plan_collective(const EntryPoint& entry, const Step& step, const Mesh& mesh,
                               const Coordinates& at) {
  check_invariant(is_combined(step) || ((step.inputs.size() == 1 || step.op()) && step.outputs.size() == 1),
                  "a collective has one input and one output");
  const Sides sides{entry.values[step.inputs[0]], entry.values[step.outputs[0]]};
  CollectivePlan plan;
  plan.kind = step.collective().kind;
  plan.reduce = step.collective().reduce;
  plan.dtype = sides.input.type.dtype;
  plan.input = place_of(entry, step.inputs[0], mesh, at);
  plan.output = place_of(entry, step.outputs[0], mesh, at);
  if (step.workspace != kNoBuffer) {
    const Buffer& workspace = entry.buffers[step.workspace];
    plan.workspace_offset = workspace.offset;
    plan.workspace_bytes = workspace.bytes;
  }
  if (is_combined(step)) plan_parts(plan, entry, step, mesh, at);
  const bool reduces = mtfc::reduces(plan.kind);
  plan.axes = reduces ? step.collective().axes : splitting(step.collective().axes, sides.input.sharding);
  const std::vector<Coordinates> members = members_of(mesh, at, plan.axes);
  for (const Coordinates& member : members) plan.ranks.push_back(mesh.rank(member));
  plan.self = static_cast<size_t>(mesh.index(at, plan.axes));
  if (works_in_place(plan.kind)) {
    check_invariant(plan.input.elements() == plan.output.elements(),
                    "a collective that moves no elements changes the size of its value");
  } else if (step.op()) {
    plan_pieces(plan, entry, step, mesh, members);
  } else {
    plan_runs(plan, sides, mesh, members);
    check_complete(plan);
  }
  plan.replicated = reduces && !works_in_place(plan.kind) &&
                    splitting(plan.axes, sides.output.sharding).size() != plan.axes.size();
  return plan;
}

int64_t CollectivePlan::flat_share() const {
  const auto members = static_cast<int64_t>(ranks.size());
  if (parts.empty()) return input.elements() / members;
  int64_t share = 0;
  for (const PackedPart& part : parts) share += part.bytes / size_of(dtype) / members;
  return share;
}

void pack(const std::vector<PackedPart>& parts, const Arena& arena) {
  for (const PackedPart& part : parts)
    if (part.bytes > 0)
      std::memcpy(arena.at(part.packed), arena.at(part.operand), static_cast<size_t>(part.bytes));
}

void unpack(const std::vector<PackedPart>& parts, const Arena& arena) {
  for (const PackedPart& part : parts)
    if (part.bytes > 0)
      std::memcpy(arena.at(part.result), arena.at(part.packed), static_cast<size_t>(part.bytes));
}

int64_t sent_elsewhere(const CollectivePlan& plan) {
  int64_t sent = 0;
  for (size_t member = 0; member < plan.sends.size(); ++member)
    if (member != plan.self) sent += elements(plan.sends[member]);
  return sent;
}

CollectiveCost moved_by(const CollectivePlan& plan) {
  const auto fewest = [](const std::vector<std::vector<Run>>& members) {
    int64_t elements_moved = members.empty() ? 0 : INT64_MAX;
    for (const std::vector<Run>& runs : members) elements_moved = std::min(elements_moved, elements(runs));
    return elements_moved;
  };
  CollectiveAmounts amounts;
  amounts.in = plan.input.elements();
  for (const std::vector<Run>& runs : plan.receives) amounts.out += elements(runs);
  switch (facts_of(plan.kind).share) {
    case CostShare::kFlatPart:
      amounts.share = plan.flat_share();
      break;
    case CostShare::kSmallestInput:
      amounts.share = fewest(plan.receives);
      break;
    case CostShare::kSmallestOutput:
      amounts.share = fewest(plan.sends);
      break;
    case CostShare::kSent:
      amounts.share = sent_elsewhere(plan);
      break;
  }
  return collective_cost(plan.kind, amounts, size_of(plan.dtype));
}

std::vector<Run> plan_slice(const Place& input, const Place& output) {
  std::vector<Run> runs = common_runs(input.type.dims, input.box, output.type.dims, output.box);
  check_invariant(elements(runs) == output.elements(),
                  "a slice needs elements that its device does not hold");
  return runs;
}

}  // namespace mtfc
