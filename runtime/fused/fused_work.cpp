#include "runtime/fused/fused_work.h"

#include <algorithm>
#include <optional>

#include "core/diagnostics/error.h"
#include "runtime/compute/elementwise.h"

namespace mtfc {
namespace {

constexpr int64_t kVector = 16;  // elements

std::vector<FusedMember> find_members(const EntryPoint& entry, const Step& step, const FusedGrid& grid) {
  const auto type = [&](ValueId id) -> const TensorType& { return entry.values[id].type; };
  const auto extent = [&](ValueId id) { return grid.extent(type(id).dims); };
  std::vector<FusedMember> members;
  for (size_t m = 0; m < step.members().size(); ++m) {
    const Step& member = step.members()[m];
    const MemberKind kind = *member_kind(entry, member);
    const Extent made = extent(member.outputs[0]);
    const Extent worked = kind == MemberKind::kReduction ? extent(member.inputs[0]) : made;
    members.push_back({member, kind, worked, made, grid.stage[m]});
    if (kind == MemberKind::kReduction)
      members.back().reduction = tile_reduction(kernel_named(member.op()->signature.name).reduction.value(),
                                                type(member.outputs[0]).dtype);
  }
  return members;
}

BlockShape cut_blocks(const FusedWork& work, int64_t tile) {
  BlockShape shape;
  shape.rows = shape.columns = 1;
  for (size_t i = 0; i < work.box.size(); ++i)
    (i < work.grid.row_dims ? shape.rows : shape.columns) *= work.box[i].size();
  // Rows that are worked through by themselves must not be met once per tile.
  shape.whole_rows = std::any_of(work.members.begin(), work.members.end(), [](const FusedMember& member) {
    return member.made == Extent::kRow || member.worked == Extent::kRow;
  });
  if (shape.columns <= tile) {
    shape.columns_per_tile = std::max<int64_t>(1, shape.columns);
    shape.rows_per_block = tile / shape.columns_per_tile;
    shape.whole_rows = true;
  } else {
    const int64_t tiles = (shape.columns + tile - 1) / tile, unit = std::min(kVector, tile);
    shape.columns_per_tile = ((shape.columns + tiles - 1) / tiles + unit - 1) / unit * unit;
  }
  return shape;
}

// Members stand after those that they read, so a view of a view is known by its source at once.
void find_uses(FusedWork& work) {
  for (size_t m = 0; m < work.members.size(); ++m) {
    const FusedMember& member = work.members[m];
    for (const ValueId id : member.step.inputs) {
      LastUse& use = work.last_uses[work.source(id)];
      use.member = static_cast<int>(m);
      use.stage = std::max(use.stage, member.stage);
    }
    if (member.kind == MemberKind::kBroadcast && !work.is_result(member.result()))
      work.views[member.result()] = work.source(member.step.inputs[0]);
  }
}

TilePlace on_grid(TilePlace::Memory memory, const std::vector<ValueId>& list, ValueId id,
                  const FusedWork& work) {
  const auto index = static_cast<uint32_t>(std::find(list.begin(), list.end(), id) - list.begin());
  TilePlace place{memory, index, 0, 0, 0};
  const int64_t element = work.element_bytes(id);
  const Extent extent = work.extent(id);
  if (extent == Extent::kElement) place.per_row = work.blocks.columns * element;
  if (extent == Extent::kRow) place.per_row = element;
  if (extent == Extent::kElement || extent == Extent::kColumn) place.per_column = element;
  return place;
}

}  // namespace

bool FusedWork::is_result(ValueId id) const {
  return std::find(step.outputs.begin(), step.outputs.end(), id) != step.outputs.end();
}

ValueId FusedWork::source(ValueId id) const {
  const auto view = views.find(id);
  return view == views.end() ? id : view->second;
}

LastUse FusedWork::last_use(ValueId id) const {
  const auto use = last_uses.find(id);
  return use == last_uses.end() ? LastUse{} : use->second;
}

TilePlace FusedWork::stored_operand(ValueId id) const {
  return on_grid(TilePlace::Memory::kOperand, step.inputs, id, *this);
}

TilePlace FusedWork::stored_result(ValueId id) const {
  return on_grid(TilePlace::Memory::kResult, step.outputs, id, *this);
}

FusedWork fused_work(const EntryPoint& entry, const Step& step, const Mesh& mesh, const Coordinates& at,
                     int64_t tile) {
  std::optional<FusedGrid> grid = find_grid(entry, step, mesh);
  check_invariant(grid.has_value(), "the members of a fused step do not fit together");
  const Box box = local_box(grid->dims, grid->sharding, mesh, at);
  FusedWork work{entry, step, mesh, at, *std::move(grid), box, {}};
  work.members = find_members(entry, step, work.grid);
  work.blocks = cut_blocks(work, tile);
  work.tile = std::max(tile, work.blocks.columns_per_tile);
  find_uses(work);
  return work;
}

LocalTensor local_tensor(const Value& value, const Mesh& mesh, const Coordinates& at) {
  return {value.type, local_box(value.type.dims, value.sharding, mesh, at)};
}

}  // namespace mtfc
