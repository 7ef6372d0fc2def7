#include "runtime/fused/fused_places.h"

#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace mtfc {
namespace {

using Access = OperandPlace::Access;
using Memory = TilePlace::Memory;

constexpr int64_t kLine = 64;  // bytes
constexpr int kEveryStage = -1;
// Sets of accumulators: enough for many threads, few enough to be added up quickly.
constexpr int64_t kFewSets = 16, kManySets = 64, kManyColumns = 1024;

int64_t aligned(int64_t bytes) {
  return (bytes + kLine - 1) / kLine * kLine;
}

// The largest cache, shared by all cores.
int64_t cache_bytes() {
  static const int64_t kBytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
  return kBytes > 0 ? kBytes : int64_t{32} << 20;
}

// Memory that is given out and never taken back.
class Stack {
 public:
  int64_t take(int64_t bytes) { return std::exchange(size_, size_ + aligned(bytes)); }
  int64_t size() const { return size_; }

 private:
  int64_t size_ = 0;
};

// Scratch memory of a thread. Tiles that are given back serve others with elements of the same size.
class Scratch {
 public:
  explicit Scratch(int64_t tile_elements) : tile_elements_(tile_elements) {}

  int64_t size() const { return stack_.size(); }
  TilePlace take(int64_t bytes) { return {Memory::kScratch, 0, stack_.take(bytes), 0, 0}; }
  TilePlace take_tile(int64_t element) {
    std::vector<TilePlace>& free = free_[element];
    if (free.empty()) return take(tile_elements_ * element);
    const TilePlace place = free.back();
    free.pop_back();
    return place;
  }
  void give_back(int64_t element, const TilePlace& tile) { free_[element].push_back(tile); }

 private:
  int64_t tile_elements_;
  Stack stack_;
  std::map<int64_t, std::vector<TilePlace>> free_;  // by bytes of an element
};

// The values placed so far, for all members before the current one.
struct Placed {
  Scratch scratch;
  Stack shared = {}, sum_set = {};
  std::map<ValueId, TilePlace> results = {};
  std::map<std::pair<ValueId, int>, TilePlace> repeated = {};  // by the stage that it serves
};

// A large result would only drive other things out of the cache. It must lie in memory of its own, which nobody
// reads before it is written.
bool is_streamed(const FusedWork& work, const FusedMember& member) {
  const ValueId id = member.result();
  if (!work.is_result(id) || member.kind == MemberKind::kConstant || member.made != Extent::kElement)
    return false;
  if (elements(work.box) * work.element_bytes(id) < cache_bytes() / 2) return false;
  return std::none_of(work.step.inputs.begin(), work.step.inputs.end(),
                      [&](ValueId in) { return work.value(in).buffer == work.value(id).buffer; });
}

TilePlace place_result(const FusedWork& work, const FusedMember& member, bool streamed, Placed& placed) {
  const ValueId id = member.result();
  const int64_t element = work.element_bytes(id);
  if (member.made == Extent::kSingle || member.kind == MemberKind::kConstant)
    return {Memory::kShared, 0, placed.shared.take(element), 0, 0};
  if (work.is_result(id) && !streamed) return work.stored_result(id);
  if (member.made == Extent::kRow) return placed.scratch.take(work.blocks.rows_per_block * element);
  if (work.last_use(id).stage > member.stage) {
    TilePlace row = placed.scratch.take(std::max(work.blocks.columns, work.tile) * element);
    row.per_column = element;
    return row;
  }
  return placed.scratch.take_tile(element);
}

OperandPlace gather(const FusedWork& work, ValueId source, Extent wanted, Placed& placed) {
  const int64_t element = work.element_bytes(source);
  return {source,
          Access::kGathered,
          {},
          wanted == Extent::kRow ? placed.scratch.take(work.blocks.rows_per_block * element)
                                 : placed.scratch.take_tile(element)};
}

OperandPlace place_operand(const FusedWork& work, const FusedMember& member, ValueId id, Placed& placed) {
  const ValueId source = work.source(id);
  const Extent wanted = member.worked, extent = work.extent(source);
  const auto made = placed.results.find(source);
  if (made == placed.results.end() && !work.grid.lies_in_order(work.value(source).type.dims))
    return gather(work, source, wanted, placed);
  const TilePlace stored = made == placed.results.end() ? work.stored_operand(source) : made->second;
  const bool is_one_row = extent == Extent::kColumn && work.blocks.rows_per_block == 1;
  if (extent == wanted || (is_one_row && wanted == Extent::kElement))
    return {source, Access::kInPlace, stored, stored};
  // A row's value changes from block to block, the others do not.
  const auto [known, is_new] =
      placed.repeated.try_emplace({source, extent == Extent::kRow ? member.stage : kEveryStage});
  if (is_new) known->second = placed.scratch.take(work.tile * work.element_bytes(source));
  return {source, Access::kRepeated, stored, known->second, !is_new};
}

// The accumulators of rows belong to a thread; others are shared, in sets that are added up at the end.
TilePlace place_accumulators(const FusedWork& work, const FusedMember& member, Placed& placed) {
  const int64_t bytes = member.reduction.accumulator_bytes;
  if (member.made == Extent::kRow) return placed.scratch.take(work.blocks.rows_per_block * bytes);
  const bool columns = member.made == Extent::kColumn;
  const int64_t count = columns ? work.blocks.columns : 1;
  return {Memory::kShared, 0, placed.sum_set.take(count * bytes), 0, columns ? bytes : 0};
}

// Gives back the tiles that were gathered for member `m`, and those of which it is the last reader.
void give_back_tiles(const FusedWork& work, size_t m, const MemberPlaces& places, Placed& placed) {
  const FusedMember& member = work.members[m];
  for (const OperandPlace& operand : places.operands)
    if (operand.access == Access::kGathered && member.worked != Extent::kRow)
      placed.scratch.give_back(work.element_bytes(operand.source), operand.place);
  std::set<ValueId> done;
  const auto finish = [&](ValueId id) {
    const auto place = placed.results.find(id);
    if (place == placed.results.end() || work.last_use(id).member > static_cast<int>(m)) return;
    const bool is_tile = place->second.memory == Memory::kScratch && place->second.per_column == 0 &&
                         work.extent(id) == Extent::kElement;
    if (done.insert(id).second && is_tile) placed.scratch.give_back(work.element_bytes(id), place->second);
  };
  for (const OperandPlace& operand : places.operands) finish(operand.source);
  finish(member.result());
}

MemberPlaces place_member(const FusedWork& work, size_t m, Placed& placed) {
  const FusedMember& member = work.members[m];
  MemberPlaces places;
  for (const ValueId id : member.step.inputs)
    places.operands.push_back(place_operand(work, member, id, placed));
  const bool reduces = member.kind == MemberKind::kReduction;
  if (reduces) places.accumulators = place_accumulators(work, member, placed);
  // Sums that are shared by threads are in their results when the step ends, and not before.
  if (reduces && member.made != Extent::kRow) {
    places.result = work.stored_result(member.result());
  } else {
    places.is_streamed = is_streamed(work, member);
    places.result = place_result(work, member, places.is_streamed, placed);
    placed.results[member.result()] = places.result;
  }
  give_back_tiles(work, m, places, placed);
  return places;
}

}  // namespace

FusedPlaces place_values(const FusedWork& work) {
  Placed placed{Scratch(work.tile)};
  FusedPlaces places;
  for (size_t m = 0; m < work.members.size(); ++m)
    places.members.push_back(work.views.count(work.members[m].result()) > 0 ? MemberPlaces{}
                                                                            : place_member(work, m, placed));
  places.memory.scratch_bytes = placed.scratch.size();
  places.memory.singles_bytes = placed.shared.size();
  places.memory.sum_set_bytes = placed.sum_set.size();
  const int64_t sets = work.blocks.columns <= kManyColumns ? kManySets : kFewSets;
  places.memory.sum_sets = std::max<int64_t>(1, std::min(sets, work.blocks.blocks()));
  return places;
}

}  // namespace mtfc
