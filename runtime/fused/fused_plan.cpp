#include "runtime/fused/fused_plan.h"

#include <algorithm>
#include <cstring>

#include "core/diagnostics/error.h"
#include "core/tensors/alignment.h"
#include "runtime/compute/elementwise.h"
#include "runtime/fused/fused_places.h"
#include "runtime/fused/fused_work.h"

namespace mtfc {
namespace {

using Access = OperandPlace::Access;
using Kind = TileInstruction::Kind;

template <typename T>
void copy_tile(const std::byte* const* operands, std::byte* result, int64_t count) {
  std::memmove(result, operands[0], static_cast<size_t>(count) * sizeof(T));
}

// An accumulator of a shard without elements holds the identity, which is infinite for a maximum or minimum and
// no fault of the model.
bool should_be_finite(const Value& value) {
  return is_float(value.type.dtype) &&
         std::none_of(value.sharding.partial.begin(), value.sharding.partial.end(), [](const Partial& p) {
           return p.kind == ReduceKind::kMax || p.kind == ReduceKind::kMin;
         });
}

std::vector<TileInstruction>& instructions(FusedPlan& plan, Extent extent, int stage) {
  if (extent == Extent::kSingle) return plan.singles;
  FusedStage& own = plan.stages[static_cast<size_t>(stage)];
  return extent == Extent::kRow ? own.rows : own.tiles;
}

// -- operands --

TileInstruction gather(const FusedWork& work, const OperandPlace& operand, Extent wanted) {
  const ValueId id = operand.source;
  TileInstruction gather{.kind = Kind::kGather, .extent = wanted, .result = operand.place};
  gather.operands = {{TilePlace::Memory::kOperand, work.stored_operand(id).index, 0, 0, 0}};
  gather.element = work.element_bytes(id);
  gather.copy = nest_copy(work.value(id).type.dtype);
  const Dims dims = work.grid.dims_of(wanted);
  gather.nest.strides = {aligned_strides(work.local(id), dims)};
  for (size_t i = 0; i < dims.size(); ++i) gather.nest.extents.push_back(work.box[i].size());
  gather.nest = collapse(gather.nest);
  return gather;
}

// Short rows have several of them in a tile, so their columns are repeated in the order of the grid.
void add_repeat(const FusedWork& work, const FusedMember& member, const OperandPlace& operand,
                FusedPlan& plan) {
  const Extent extent = work.extent(operand.source);
  if (extent == Extent::kColumn) {
    plan.repeats.push_back(gather(work, operand, Extent::kElement));
    return;
  }
  TileInstruction repeat{.kind = Kind::kRepeat, .extent = extent, .operands = {operand.stored}};
  repeat.result = operand.place;
  repeat.element = work.element_bytes(operand.source);
  (extent == Extent::kRow ? instructions(plan, extent, member.stage) : plan.repeats).push_back(repeat);
}

void add_operand(const FusedWork& work, const FusedMember& member, const OperandPlace& operand,
                 FusedPlan& plan) {
  if (operand.access == Access::kGathered)
    instructions(plan, member.worked, member.stage).push_back(gather(work, operand, member.worked));
  if (operand.access == Access::kRepeated && !operand.is_prepared) add_repeat(work, member, operand, plan);
  const bool is_whole = operand.access == Access::kInPlace && member.worked == Extent::kElement &&
                        work.extent(operand.source) == Extent::kElement;
  if (!is_whole || operand.stored.memory != TilePlace::Memory::kOperand) return;
  if (std::none_of(plan.fetched.begin(), plan.fetched.end(),
                   [&](const TilePlace& other) { return other.index == operand.stored.index; }))
    plan.fetched.push_back(operand.stored);
}

// -- members --

void add_constant(const FusedWork& work, const FusedMember& member, const MemberPlaces& places,
                  FusedPlan& plan) {
  const auto number = member.step.attributes().get<double>("value");
  FusedConstant constant{places.result.offset, {}};
  dispatch(AllTypes{}, work.value(member.result()).type.dtype, [&]<typename T>() {
    const T element = static_cast<T>(number);
    return std::memcpy(constant.bytes.data(), &element, sizeof element);
  });
  plan.constants.push_back(constant);
}

// The instruction that makes the result of member `m`, but for what it does.
TileInstruction making(const FusedWork& work, size_t m, const MemberPlaces& places) {
  const FusedMember& member = work.members[m];
  const Value& made = work.value(member.result());
  TileInstruction instruction{.extent = member.made, .result = places.result};
  instruction.element = work.element_bytes(member.result());
  instruction.member = static_cast<int>(m);
  instruction.checked = should_be_finite(made);
  instruction.dtype = made.type.dtype;
  return instruction;
}

TileFunction tile_function(const FusedWork& work, const FusedMember& member) {
  TileTypes types{{}, work.value(member.result()).type.dtype};
  for (const ValueId id : member.step.inputs) types.operands.push_back(work.value(id).type.dtype);
  if (member.kind == MemberKind::kBroadcast)
    return dispatch(AllTypes{}, types.result, []<typename T>() -> TileFunction { return copy_tile<T>; });
  return kernel_named(member.step.op()->signature.name).tile(types);
}

void add_computation(const FusedWork& work, size_t m, const MemberPlaces& places, FusedPlan& plan) {
  const FusedMember& member = work.members[m];
  const ValueId out = member.result();
  if (member.kind == MemberKind::kElementwise) plan.flops += work.local(out).elements();
  TileInstruction compute = making(work, m, places);
  for (const OperandPlace& operand : places.operands) compute.operands.push_back(operand.place);
  compute.function = tile_function(work, member);
  instructions(plan, member.made, member.stage).push_back(compute);
  if (places.is_streamed) {
    TileInstruction stream{.kind = Kind::kStream, .operands = {places.result}};
    stream.result = work.stored_result(out);
    stream.element = compute.element;
    instructions(plan, Extent::kElement, member.stage).push_back(stream);
  }
  if (member.made == Extent::kSingle && work.is_result(out))
    plan.single_results.push_back({places.result.offset, work.stored_result(out).index, compute.element});
}

// A mean divides by the elements of all devices.
double divisor(const FusedWork& work, const FusedMember& member) {
  if (kernel_named(member.step.op()->signature.name).reduction != Reduction::kMean) return 1;
  return static_cast<double>(elements(work.value(member.step.inputs[0]).type.dims)) /
         static_cast<double>(elements(work.value(member.result()).type.dims));
}

// Sums of rows are complete at the end of each block.
void add_row_sums(const FusedWork& work, size_t m, const MemberPlaces& places, FusedPlan& plan) {
  const FusedMember& member = work.members[m];
  FusedStage& stage = plan.stages[static_cast<size_t>(member.stage)];
  TileInstruction begin{.kind = Kind::kBegin, .extent = Extent::kRow, .result = places.accumulators};
  begin.reduction = member.reduction;
  stage.rows.push_back(begin);
  TileInstruction finish = making(work, m, places);
  finish.kind = Kind::kFinish;
  finish.operands = {places.accumulators};
  finish.reduction = member.reduction;
  finish.divisor = divisor(work, member);
  stage.ends.push_back(finish);
}

void add_reduction(const FusedWork& work, size_t m, const MemberPlaces& places, FusedPlan& plan) {
  const FusedMember& member = work.members[m];
  plan.flops += work.local(member.step.inputs[0]).elements();
  TileInstruction add{.extent = member.worked, .operands = {places.operands[0].place}};
  add.kind = member.made == Extent::kRow      ? Kind::kAddRows
             : member.made == Extent::kColumn ? Kind::kAddColumns
                                              : Kind::kAddAll;
  add.result = places.accumulators;
  add.reduction = member.reduction;
  if (member.made == Extent::kRow)
    add_row_sums(work, m, places, plan);
  else
    plan.sums.push_back({member.reduction, places.accumulators.offset,
                         member.made == Extent::kColumn ? work.blocks.columns : 1, divisor(work, member),
                         places.result, static_cast<int>(m)});
  instructions(plan, member.worked, member.stage).push_back(add);
}

void add_member(const FusedWork& work, size_t m, const MemberPlaces& places, FusedPlan& plan) {
  const FusedMember& member = work.members[m];
  if (work.views.count(member.result()) > 0) return;
  if (member.kind == MemberKind::kConstant) return add_constant(work, member, places, plan);
  for (const OperandPlace& operand : places.operands) add_operand(work, member, operand, plan);
  if (member.kind == MemberKind::kReduction)
    add_reduction(work, m, places, plan);
  else
    add_computation(work, m, places, plan);
}

}  // namespace

FusedPlan plan_fused(const EntryPoint& entry, const Step& step, const Mesh& mesh, const Coordinates& at,
                     int64_t tile) {
  const FusedWork work = fused_work(entry, step, mesh, at, tile);
  const FusedPlaces places = place_values(work);
  FusedPlan plan;
  plan.blocks = work.blocks;
  plan.memory = places.memory;
  for (const FusedMember& member : work.members)
    plan.stages.resize(std::max(plan.stages.size(), static_cast<size_t>(member.stage) + 1));
  for (size_t m = 0; m < work.members.size(); ++m) add_member(work, m, places.members[m], plan);
  return plan;
}

}  // namespace mtfc
