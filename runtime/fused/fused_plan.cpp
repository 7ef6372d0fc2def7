#include "runtime/fused/fused_plan.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "core/diagnostics/error.h"
#include "core/tensors/alignment.h"
#include "runtime/compute/elementwise.h"

namespace mtfc {
namespace {

constexpr int64_t kLine = 64;    // bytes
constexpr int64_t kVector = 16;  // elements
// Sets of accumulators: enough for many threads, few enough to be added up quickly.
constexpr int64_t kFewPieces = 16, kManyPieces = 64, kManyColumns = 1024;

// The largest cache, shared by all cores.
int64_t cache_bytes() {
  static const int64_t kBytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
  return kBytes > 0 ? kBytes : int64_t{32} << 20;
}

template <typename T>
void copy_tile(const std::byte* const* operands, std::byte* result, int64_t count) {
  std::memmove(result, operands[0], static_cast<size_t>(count) * sizeof(T));
}

// What keeps an accumulator from being finite is not for --check-finite to tell: an empty shard holds the
// identity.
bool should_be_finite(const Value& value) {
  return is_float(value.type.dtype) &&
         std::none_of(value.sharding.partial.begin(), value.sharding.partial.end(), [](const Partial& p) {
           return p.kind == ReduceKind::kMax || p.kind == ReduceKind::kMin;
         });
}

class Planner {
 public:
  Planner(const EntryPoint& entry, const Step& step, const Mesh& mesh, const Coordinates& at, int64_t tile)
      : entry_(entry), step_(step), mesh_(mesh), at_(at), tile_(tile) {
    const std::optional<FusedGrid> grid = find_grid(entry, step, mesh);
    check_invariant(grid.has_value(), "the parts of a fused step do not fit together");
    grid_ = *grid;
  }

  FusedPlan run() {
    measure();
    for (size_t p = 0; p < step_.parts.size(); ++p) note_uses(p);
    plan_.stages.resize(static_cast<size_t>(grid_.stage.empty() ? 0 : last_stage() + 1));
    for (size_t p = 0; p < step_.parts.size(); ++p) add_part(p);
    plan_.singles_bytes = plan_.shared_bytes = aligned(plan_.shared_bytes);
    plan_.shared_bytes += plan_.pieces * plan_.piece_bytes;
    return std::move(plan_);
  }

 private:
  using Memory = TilePlace::Memory;
  using Kind = TileInstruction::Kind;

  struct Uses {
    int last_part = -1;   // that reads the value
    int last_stage = -1;  // in which it is read
  };

  struct BorrowedTile {
    int64_t offset;
    int64_t element;  // bytes
  };

  static size_t index(int id) { return static_cast<size_t>(id); }
  const Value& value(ValueId id) const { return entry_.values[index(id)]; }
  int64_t size(ValueId id) const { return size_of(value(id).type.dtype); }
  LocalTensor local(ValueId id) const { return local_tensor(value(id), mesh_, at_); }
  PartKind kind(size_t p) const { return *part_kind(entry_, step_.parts[p]); }
  int last_stage() const { return *std::max_element(grid_.stage.begin(), grid_.stage.end()); }

  void measure() {
    for (const Step& part : step_.parts)
      for (const std::vector<ValueId>* values : {&part.inputs, &part.outputs})
        for (const ValueId id : *values)
          for (size_t i = 0; i < value(id).type.dims.size(); ++i)
            axes_[value(id).type.dims[i].name] = value(id).sharding.dims[i];
    Sharding sharding;
    for (const Dim& dim : grid_.dims) sharding.dims.push_back(axes_[dim.name]);
    box_ = local_box(grid_.dims, sharding, mesh_, at_);
    plan_.rows = plan_.columns = 1;
    for (size_t i = 0; i < box_.size(); ++i)
      (i < grid_.row_dims ? plan_.rows : plan_.columns) *= box_[i].size();
    for (size_t p = 0; p < step_.parts.size(); ++p) {
      const Dims& worked =
          value(kind(p) == PartKind::kReduction ? step_.parts[p].inputs[0] : step_.parts[p].outputs[0])
              .type.dims;
      // Rows that are worked through by themselves must not be met once per tile.
      if (made(p) == Extent::kRow || extent_of(worked) == Extent::kRow) plan_.whole_rows = true;
    }
    if (plan_.columns <= tile_) {
      plan_.columns_per_tile = std::max<int64_t>(1, plan_.columns);
      plan_.rows_per_block = tile_ / plan_.columns_per_tile;
      plan_.whole_rows = true;
    } else {
      const int64_t tiles = (plan_.columns + tile_ - 1) / tile_, unit = std::min(kVector, tile_);
      plan_.columns_per_tile = ((plan_.columns + tiles - 1) / tiles + unit - 1) / unit * unit;
    }
    tile_ = std::max(tile_, plan_.columns_per_tile);
    plan_.pieces = plan_.columns <= kManyColumns ? kManyPieces : kFewPieces;
    plan_.pieces = std::max<int64_t>(1, std::min(plan_.pieces, plan_.blocks()));
  }

  // By the set of dimensions: what stays within the step has no order of its own.
  Extent extent_of(const Dims& dims) const {
    if (dims.size() == grid_.dims.size()) return Extent::kElement;
    if (dims.empty()) return Extent::kSingle;
    return contains(dims, grid_.dims[0].name) && grid_.row_dims > 0 ? Extent::kRow : Extent::kColumn;
  }
  Extent made(size_t p) const { return extent_of(value(step_.parts[p].outputs[0]).type.dims); }

  bool is_result(ValueId id) const {
    return std::find(step_.outputs.begin(), step_.outputs.end(), id) != step_.outputs.end();
  }
  bool is_made(ValueId id) const {
    return std::any_of(step_.parts.begin(), step_.parts.end(),
                       [&](const Step& part) { return part.outputs[0] == id; });
  }

  // What a broadcast that does not come out repeats.
  ValueId source(ValueId id) const {
    const auto at = repeated_.find(id);
    return at == repeated_.end() ? id : at->second;
  }

  void note_uses(size_t p) {
    const Step& part = step_.parts[p];
    for (const ValueId id : part.inputs) {
      Uses& uses = uses_[source(id)];
      uses.last_part = static_cast<int>(p);
      uses.last_stage = std::max(uses.last_stage, grid_.stage[p]);
    }
    if (kind(p) == PartKind::kBroadcast && !is_result(part.outputs[0]))
      repeated_[part.outputs[0]] = source(part.inputs[0]);
  }

  // -- places --

  int64_t take_scratch(int64_t bytes) {
    const int64_t offset = plan_.scratch_bytes;
    plan_.scratch_bytes += aligned(bytes);
    return offset;
  }
  int64_t take_shared(int64_t bytes) {
    const int64_t offset = plan_.shared_bytes;
    plan_.shared_bytes += aligned(bytes);
    return offset;
  }

  // A tile for what only the tile at hand needs; given back when its last reader has run.
  TilePlace take_tile(int64_t element) {
    std::vector<int64_t>& free = free_[element];
    TilePlace place;
    if (free.empty()) {
      place.offset = take_scratch(tile_ * element);
    } else {
      place.offset = free.back();
      free.pop_back();
    }
    return place;
  }

  TilePlace in_memory(Memory memory, size_t at, Extent extent, int64_t element) const {
    TilePlace place{memory, at, 0, 0, 0};
    if (extent == Extent::kElement) place.per_row = plan_.columns * element;
    if (extent == Extent::kRow) place.per_row = element;
    if (extent == Extent::kElement || extent == Extent::kColumn) place.per_column = element;
    return place;
  }

  size_t number(const std::vector<ValueId>& list, ValueId id) const {
    return static_cast<size_t>(std::find(list.begin(), list.end(), id) - list.begin());
  }

  // Where part `p` puts its result.
  TilePlace result_place(size_t p) {
    const ValueId id = step_.parts[p].outputs[0];
    const Extent extent = made(p);
    if (is_result(id) && extent != Extent::kSingle && !is_streamed(id))
      return in_memory(Memory::kResult, number(step_.outputs, id), extent, size(id));
    if (extent == Extent::kSingle) return {Memory::kShared, 0, take_shared(size(id)), 0, 0};
    if (extent == Extent::kRow)
      return {Memory::kScratch, 0, take_scratch(plan_.rows_per_block * size(id)), 0, 0};
    if (uses_[id].last_stage > grid_.stage[p]) {
      const int64_t row = std::max(plan_.columns, tile_);
      return {Memory::kScratch, 0, take_scratch(row * size(id)), 0, size(id)};
    }
    return take_tile(size(id));
  }

  // Whether a result is so large that it would only drive other things out of the cache, and lies in memory
  // of its own, which need not be read before it is written.
  bool is_streamed(ValueId id) const {
    if (!is_result(id) || extent_of(value(id).type.dims) != Extent::kElement) return false;
    if (elements(box_) * size(id) < cache_bytes() / 2) return false;
    return std::none_of(step_.inputs.begin(), step_.inputs.end(),
                        [&](ValueId in) { return value(in).buffer == value(id).buffer; });
  }

  // -- how a part sees a value --

  // As `wanted`, in stage `s`; instructions that this takes are added.
  TilePlace view(ValueId id, Extent wanted, size_t s, std::vector<BorrowedTile>& borrowed) {
    id = source(id);
    const Dims& dims = value(id).type.dims;
    const bool inner = is_made(id);
    const std::optional<Extent> known = inner ? extent_of(dims) : grid_.extent(dims);
    if (!known) return gathered(id, wanted, s, borrowed);
    const Extent extent = *known;
    const TilePlace place =
        inner ? places_.at(id) : in_memory(Memory::kOperand, number(step_.inputs, id), extent, size(id));
    if (!inner && wanted == Extent::kElement && extent == wanted && fetched_.insert(id).second)
      plan_.fetched.push_back(place);
    if (extent == wanted) return place;
    if (wanted == Extent::kElement && extent == Extent::kColumn && plan_.rows_per_block == 1) return place;
    if (extent == Extent::kRow) return repeated_rows(id, place, s);
    return extent == Extent::kSingle ? repeated_single(id, place) : repeated_columns(id);
  }

  TilePlace repeated_single(ValueId id, TilePlace place) {
    const auto known = repeats_.find(id);
    if (known != repeats_.end()) return known->second;
    TileInstruction repeat{.kind = Kind::kRepeat, .extent = Extent::kSingle, .operands = {place}};
    repeat.element = size(id);
    repeat.result.offset = take_scratch(tile_ * size(id));
    plan_.repeats.push_back(repeat);
    return repeats_[id] = repeat.result;
  }

  // Short rows: the columns, over and over.
  TilePlace repeated_columns(ValueId id) {
    const auto known = repeats_.find(id);
    if (known != repeats_.end()) return known->second;
    TileInstruction repeat = gather_of(id, Extent::kElement);
    repeat.result.offset = take_scratch(tile_ * size(id));
    plan_.repeats.push_back(repeat);
    return repeats_[id] = repeat.result;
  }

  TilePlace repeated_rows(ValueId id, TilePlace place, size_t s) {
    const auto known = row_repeats_.find({id, s});
    if (known != row_repeats_.end()) return known->second;
    TileInstruction repeat{.kind = Kind::kRepeat, .extent = Extent::kRow, .operands = {place}};
    repeat.element = size(id);
    repeat.result.offset = take_scratch(tile_ * size(id));
    plan_.stages[s].rows.push_back(repeat);
    return row_repeats_[{id, s}] = repeat.result;
  }

  TileInstruction gather_of(ValueId id, Extent wanted) {
    TileInstruction gather{.kind = Kind::kGather, .extent = wanted};
    gather.operands = {{Memory::kOperand, number(step_.inputs, id), 0, 0, 0}};
    gather.element = size(id);
    gather.copy = nest_copy(value(id).type.dtype);
    Dims dims = grid_.dims;
    Box box = box_;
    if (wanted == Extent::kRow) dims.resize(grid_.row_dims), box.resize(grid_.row_dims);
    gather.nest.strides = {aligned_strides(local(id), dims)};
    for (const Interval& interval : box) gather.nest.extents.push_back(interval.size());
    gather.nest = collapse(gather.nest);
    return gather;
  }

  TilePlace gathered(ValueId id, Extent wanted, size_t s, std::vector<BorrowedTile>& borrowed) {
    TileInstruction gather = gather_of(id, wanted);
    if (wanted == Extent::kRow) {
      gather.result.offset = take_scratch(plan_.rows_per_block * size(id));
      plan_.stages[s].rows.push_back(gather);
    } else {
      gather.result = take_tile(size(id));
      plan_.stages[s].tiles.push_back(gather);
      borrowed.push_back({gather.result.offset, size(id)});
    }
    return gather.result;
  }

  // -- parts --

  void add_part(size_t p) {
    const Step& part = step_.parts[p];
    const ValueId out = part.outputs[0];
    const PartKind what = kind(p);
    if (what == PartKind::kReduction) return add_reduction(p);
    if (what == PartKind::kBroadcast && repeated_.count(out) > 0) return;
    if (what == PartKind::kConstant) return add_constant(p);
    if (what == PartKind::kElementwise) plan_.flops += elements(local(out).box);
    const Extent extent = made(p);
    const auto s = static_cast<size_t>(grid_.stage[p]);
    std::vector<BorrowedTile> borrowed;
    TileInstruction compute{.kind = Kind::kCompute, .extent = extent};
    TileTypes types{{}, value(out).type.dtype};
    for (const ValueId id : part.inputs) {
      compute.operands.push_back(view(id, extent, s, borrowed));
      types.operands.push_back(value(id).type.dtype);
    }
    compute.function =
        what == PartKind::kBroadcast
            ? dispatch(AllTypes{}, types.result, []<typename T>() -> TileFunction { return copy_tile<T>; })
            : kernel_named(part.op->signature.name).tile(types);
    compute.result = places_[out] = result_place(p);
    compute.part = static_cast<int>(p);
    compute.dtype = types.result;
    compute.checked = should_be_finite(value(out));
    compute.element = size(out);
    instructions(extent, s).push_back(compute);
    if (is_streamed(out)) {
      TileInstruction stream{.kind = Kind::kStream, .operands = {compute.result}};
      stream.result = in_memory(Memory::kResult, number(step_.outputs, out), extent, size(out));
      stream.element = size(out);
      plan_.stages[s].tiles.push_back(stream);
    }
    if (extent == Extent::kSingle && is_result(out)) add_single_result(p);
    give_back(p, borrowed);
  }

  std::vector<TileInstruction>& instructions(Extent extent, size_t s) {
    if (extent == Extent::kSingle) return plan_.singles;
    return extent == Extent::kRow ? plan_.stages[s].rows : plan_.stages[s].tiles;
  }

  void add_constant(size_t p) {
    const Step& part = step_.parts[p];
    const ValueId out = part.outputs[0];
    const TilePlace place = places_[out] = {Memory::kShared, 0, take_shared(size(out)), 0, 0};
    const double number = part.attributes.get<double>("value");
    plan_.constants.push_back({place.offset, {}});
    std::byte* bytes = plan_.constants.back().bytes.data();
    dispatch(AllTypes{}, value(out).type.dtype, [&]<typename T>() {
      const T element = static_cast<T>(number);
      return std::memcpy(bytes, &element, sizeof element);
    });
  }

  // A single value is computed beside the memory of the results, which threads may still be reading.
  void add_single_result(size_t p) {
    const ValueId out = step_.parts[p].outputs[0];
    plan_.single_results.push_back({places_.at(out).offset, number(step_.outputs, out), size(out)});
  }

  void add_reduction(size_t p) {
    const Step& part = step_.parts[p];
    const ValueId in = part.inputs[0], out = part.outputs[0];
    const Reduction reduction = kernel_named(part.op->signature.name).reduction.value();
    const LocalTensor operand = local(in);
    plan_.flops += operand.elements();
    const TileReduction functions = tile_reduction(reduction, value(out).type.dtype);
    double divisor = 1;
    if (reduction == Reduction::kMean)
      divisor = static_cast<double>(elements(value(in).type.dims)) /
                static_cast<double>(elements(value(out).type.dims));
    const Extent from = extent_of(value(in).type.dims), to = made(p);
    const auto s = static_cast<size_t>(grid_.stage[p]);
    std::vector<BorrowedTile> borrowed;
    TileInstruction add{.kind = to == Extent::kRow      ? Kind::kAddRows
                                : to == Extent::kColumn ? Kind::kAddColumns
                                                        : Kind::kAddAll,
                        .extent = from};
    add.operands = {view(in, from, s, borrowed)};
    add.reduction = functions;
    if (to == Extent::kRow)
      add_row_sums(p, add, divisor);
    else
      add_piece_sums(p, add, divisor);
    instructions(from, s).push_back(add);
    give_back(p, borrowed);
  }

  void add_row_sums(size_t p, TileInstruction& add, double divisor) {
    const ValueId out = step_.parts[p].outputs[0];
    FusedStage& stage = plan_.stages[static_cast<size_t>(grid_.stage[p])];
    add.result.offset = take_scratch(plan_.rows_per_block * add.reduction.accumulator_bytes);
    TileInstruction begin{.kind = Kind::kBegin, .extent = Extent::kRow};
    begin.result = add.result;
    begin.reduction = add.reduction;
    stage.rows.push_back(begin);
    TileInstruction finish{.kind = Kind::kFinish, .extent = Extent::kRow, .operands = {add.result}};
    finish.reduction = add.reduction;
    finish.divisor = divisor;
    finish.result = places_[out] = result_place(p);
    finish.part = static_cast<int>(p);
    finish.dtype = value(out).type.dtype;
    finish.element = size(out);
    finish.checked = should_be_finite(value(out));
    stage.ends.push_back(finish);
  }

  void add_piece_sums(size_t p, TileInstruction& add, double divisor) {
    const ValueId out = step_.parts[p].outputs[0];
    FusedSums sums{add.reduction, plan_.piece_bytes, 1, divisor, {}, static_cast<int>(p)};
    if (made(p) == Extent::kColumn) sums.count = plan_.columns;
    sums.result = in_memory(Memory::kResult, number(step_.outputs, out), made(p), size(out));
    plan_.piece_bytes += aligned(sums.count * add.reduction.accumulator_bytes);
    add.result = {Memory::kShared, 0, sums.offset, 0, 0};
    if (made(p) == Extent::kColumn) add.result.per_column = add.reduction.accumulator_bytes;
    plan_.sums.push_back(sums);
  }

  // Tiles whose last reader is part `p` are free for others.
  void give_back(size_t p, const std::vector<BorrowedTile>& borrowed) {
    for (const BorrowedTile& tile : borrowed) free_[tile.element].push_back(tile.offset);
    std::vector<ValueId> done;
    const auto finish = [&](ValueId id) {
      const auto place = places_.find(id);
      if (place == places_.end() || uses_[id].last_part > static_cast<int>(p)) return;
      if (std::find(done.begin(), done.end(), id) != done.end()) return;
      done.push_back(id);
      const bool tile = place->second.memory == Memory::kScratch && place->second.per_column == 0 &&
                        extent_of(value(id).type.dims) == Extent::kElement;
      if (tile) free_[size(id)].push_back(place->second.offset);
    };
    for (const ValueId id : step_.parts[p].inputs) finish(source(id));
    finish(step_.parts[p].outputs[0]);
  }

  const EntryPoint& entry_;
  const Step& step_;
  const Mesh& mesh_;
  const Coordinates& at_;
  FusedGrid grid_;
  Box box_;  // of the grid, on this device
  std::map<std::string, AxisList> axes_;
  int64_t tile_;  // elements
  std::map<ValueId, Uses> uses_;
  std::map<ValueId, ValueId> repeated_;  // broadcasts that are only views
  std::map<ValueId, TilePlace> places_;  // of what parts make
  std::set<ValueId> fetched_;
  std::map<ValueId, TilePlace> repeats_;
  std::map<std::pair<ValueId, size_t>, TilePlace> row_repeats_;  // by stage
  std::map<int64_t, std::vector<int64_t>> free_;                 // tiles by bytes of an element
  FusedPlan plan_;
};

}  // namespace

LocalTensor local_tensor(const Value& value, const Mesh& mesh, const Coordinates& at) {
  return {value.type, local_box(value.type.dims, value.sharding, mesh, at)};
}

FusedPlan plan_fused(const EntryPoint& entry, const Step& step, const Mesh& mesh, const Coordinates& at,
                     int64_t tile) {
  return Planner(entry, step, mesh, at, tile).run();
}

}  // namespace mtfc
