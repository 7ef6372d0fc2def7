#include "core/program/fused_grid.h"

#include <algorithm>
#include <climits>
#include <numeric>

namespace mtfc {
namespace {

// Rows that a later stage uses again should still be in the cache. Sums per column are held in memory once
// for each of several blocks of rows.
constexpr int64_t kLongestRow = 65536;
constexpr int64_t kMostSums = 65536;
// A few long rows would leave the threads little to share.
constexpr int64_t kLongRow = 4096, kFewRows = 16;

bool same_names(std::span<const Dim> a, std::span<const Dim> b) {
  return a.size() == b.size() && std::all_of(a.begin(), a.end(), [&](const Dim& dim) {
           return std::any_of(b.begin(), b.end(), [&](const Dim& other) { return other.name == dim.name; });
         });
}

class GridFinder {
 public:
  GridFinder(const EntryPoint& entry, std::span<const Step* const> members,
             const std::function<bool(ValueId)>& is_needed, const Mesh& mesh)
      : entry_(entry), members_(members), is_needed_(is_needed), mesh_(mesh) {}

  std::optional<FusedGrid> run() {
    for (size_t p = 0; p < members_.size(); ++p) {
      const std::optional<MemberKind> kind = member_kind(entry_, *members_[p]);
      if (!kind) return std::nullopt;
      kinds_.push_back(*kind);
    }
    for (size_t p = 0; p < members_.size(); ++p)
      if (maker(output(p)) != p) return std::nullopt;
    for (const Step* member : members_)
      for (const ValueId id : member->inputs)
        if (id != root_of(entry_, id) && maker(root_of(entry_, id))) return std::nullopt;
    if (!choose_dims() || !choose_sharding() || !choose_rows()) return std::nullopt;
    if (!find_stages() || !fits_cache()) return std::nullopt;
    return std::move(grid_);
  }

 private:
  static size_t index(int id) { return static_cast<size_t>(id); }
  const Value& value(ValueId id) const { return entry_.values[id]; }
  const Dims& dims(ValueId id) const { return value(id).type.dims; }
  ValueId output(size_t p) const { return members_[p]->outputs[0]; }
  // The first member that makes the value, or nothing. A unit has few members.
  std::optional<size_t> maker(ValueId id) const {
    for (size_t p = 0; p < members_.size(); ++p)
      if (output(p) == id) return p;
    return std::nullopt;
  }
  const Dims& result(size_t p) const { return dims(output(p)); }
  Extent extent(const Dims& of) const { return grid_.extent(of); }

  // Chooses the dimensions of the largest tensor, in the order that outputs of this size have, or else
  // inputs.
  bool choose_dims() {
    const Dims* most = &result(0);
    for (size_t p = 0; p < members_.size(); ++p) {
      const Dims& size = kinds_[p] == MemberKind::kReduction ? dims(members_[p]->inputs[0]) : result(p);
      if (size.size() > most->size()) most = &size;
    }
    const Dims* chosen = nullptr;
    for (size_t p = 0; p < members_.size(); ++p)
      if (is_needed_(output(p)) && same_names(result(p), *most)) {
        if (chosen && *chosen != result(p)) return false;
        chosen = &result(p);
      }
    for (const Step* member : members_)
      for (const ValueId id : member->inputs)
        if (!chosen && !maker(id) && same_names(dims(id), *most)) chosen = &dims(id);
    grid_.dims = chosen ? *chosen : *most;
    return true;
  }

  // Returns false unless every value has only dimensions of the grid, each split in only one way.
  bool choose_sharding() {
    std::vector<const AxisList*> axes(grid_.dims.size());
    for (const Step* member : members_)
      for (const std::vector<ValueId>* values : {&member->inputs, &member->outputs})
        for (const ValueId id : *values)
          for (size_t i = 0; i < dims(id).size(); ++i) {
            const int at = position(grid_.dims, dims(id)[i].name);
            if (at < 0) return false;
            const AxisList& own = value(id).sharding.dims[i];
            const AxisList*& known = axes[index(at)];
            if (known && *known != own) return false;
            known = &own;
          }
    for (const AxisList* split : axes) grid_.sharding.dims.push_back(*split);
    return true;
  }

  bool choose_rows() {
    std::optional<size_t> rows;
    const auto agree = [&](size_t count) { return rows.value_or(count) == count && (rows = count, true); };
    const std::span<const Dim> all = grid_.dims;
    for (size_t p = 0; p < members_.size(); ++p) {
      const Dims& made = result(p);
      if (made.empty() || made.size() == all.size()) continue;
      if (same_names(made, all.first(made.size()))) {
        if (!agree(made.size())) return false;
      } else if (kinds_[p] == MemberKind::kReduction && same_names(made, all.last(made.size()))) {
        if (!agree(all.size() - made.size())) return false;
      } else {
        return false;
      }
    }
    // An input that is repeated for every row is best read in place, so its dimensions become the columns.
    if (!rows)
      for (const Step* member : members_)
        for (const ValueId id : member->inputs)
          if (!rows && !dims(id).empty() && dims(id).size() < all.size() &&
              std::equal(dims(id).begin(), dims(id).end(), all.last(dims(id).size()).begin()))
            rows = all.size() - dims(id).size();
    grid_.row_dims = rows.value_or(0);
    for (size_t p = 0; p < members_.size(); ++p)
      if (is_needed_(output(p)) && !in_order(result(p), grid_.dims)) return false;
    return true;
  }

  bool find_stages() {
    // The stage from which on a member's result may be used, or -1.
    std::vector<int> ready(members_.size(), 0);
    grid_.stage.assign(members_.size(), 0);
    for (size_t p = 0; p < members_.size(); ++p) {
      const Extent made = extent(result(p));
      for (const ValueId id : members_[p]->inputs) {
        const std::optional<size_t> by = maker(id);
        if (!by) continue;
        if (*by >= p || ready[*by] < 0) return false;
        grid_.stage[p] = std::max(grid_.stage[p], ready[*by]);
      }
      ready[p] = grid_.stage[p];
      if (kinds_[p] != MemberKind::kReduction) continue;
      const Extent from = extent(dims(members_[p]->inputs[0]));
      if (from == Extent::kSingle || from == Extent::kColumn || made == from) return false;
      // Devices with different columns would cut the rows into different blocks, but the values that they
      // share must be the same bit for bit.
      if (from == Extent::kRow && columns_are_split()) return false;
      // A stage works through its rows before its elements.
      ready[p] = made == Extent::kRow ? grid_.stage[p] + 1 : -1;
    }
    postpone();
    grid_.order.resize(members_.size());
    std::iota(grid_.order.begin(), grid_.order.end(), 0);
    const auto rank = [&](int p) {
      const bool reduces = kinds_[index(p)] == MemberKind::kReduction;
      const Extent worked = extent(reduces ? dims(members_[index(p)]->inputs[0]) : result(index(p)));
      return std::pair(grid_.stage[index(p)], worked == Extent::kElement);
    };
    std::stable_sort(grid_.order.begin(), grid_.order.end(), [&](int a, int b) { return rank(a) < rank(b); });
    return true;
  }

  // Moves members that are computed per element from rows and inputs to the stage of their first user, so
  // that their values need not be kept.
  void postpone() {
    for (size_t p = members_.size(); p-- > 0;) {
      if (kinds_[p] == MemberKind::kReduction || extent(result(p)) != Extent::kElement) continue;
      if (is_needed_(output(p)) || reads_elements_made_here(p)) continue;
      std::optional<int> used;
      for (size_t user = p + 1; user < members_.size(); ++user)
        for (const ValueId id : members_[user]->inputs)
          if (id == output(p)) used = std::min(used.value_or(INT_MAX), grid_.stage[user]);
      if (used) grid_.stage[p] = *used;
    }
  }

  // True if a member reads elements made in this step, other than those that can be postponed as well.
  bool reads_elements_made_here(size_t p) const {
    return std::any_of(members_[p]->inputs.begin(), members_[p]->inputs.end(), [&](ValueId id) {
      const std::optional<size_t> by = maker(id);
      return by && extent(dims(id)) == Extent::kElement &&
             (is_needed_(id) || kinds_[*by] == MemberKind::kReduction || reads_elements_made_here(*by));
    });
  }

  bool columns_are_split() const {
    const std::vector<AxisList>& axes = grid_.sharding.dims;
    return std::any_of(axes.begin() + static_cast<std::ptrdiff_t>(grid_.row_dims), axes.end(),
                       [](const AxisList& split) { return !split.empty(); });
  }

  bool fits_cache() const {
    const LocalDims largest = largest_dims(grid_.dims, grid_.sharding, mesh_);
    const auto split = largest.begin() + static_cast<std::ptrdiff_t>(grid_.row_dims);
    const int64_t rows = elements(LocalDims(largest.begin(), split)),
                  columns = elements(LocalDims(split, largest.end()));
    for (size_t p = 0; p < members_.size(); ++p) {
      const Extent made = extent(result(p));
      if (made == Extent::kColumn && columns > kMostSums) return false;
      if (made != Extent::kRow) continue;
      if (columns > kLongestRow || (columns > kLongRow && rows < kFewRows)) return false;
    }
    return true;
  }

  const EntryPoint& entry_;
  std::span<const Step* const> members_;
  const std::function<bool(ValueId)>& is_needed_;
  const Mesh& mesh_;
  std::vector<MemberKind> kinds_;
  FusedGrid grid_;
};

}  // namespace

bool in_order(const Dims& part, const Dims& all) {
  size_t at = 0;
  for (const Dim& dim : part) {
    while (at < all.size() && all[at].name != dim.name) ++at;
    if (at++ == all.size()) return false;
  }
  return true;
}

std::optional<MemberKind> member_kind(const EntryPoint& entry, const Step& step) {
  if (step.kind() != StepKind::kKernel || step.outputs.size() != 1 || step.workspace != kNoBuffer)
    return std::nullopt;
  if (step.op()->family == Family::kElementwise) return MemberKind::kElementwise;
  if (step.op()->family == Family::kGenerator)
    return step.op()->traits.is_constant ? std::optional(MemberKind::kConstant) : std::nullopt;
  const bool moves = step.op()->family == Family::kMovement,
             reduces = step.op()->family == Family::kReduction;
  if ((!moves && !reduces) || step.inputs.size() != 1) return std::nullopt;
  const std::vector<TensorType> operands = global_types(entry, step.inputs);
  const std::vector<TensorType> results = global_types(entry, step.outputs);
  // A transposition is better done by a kernel of its own.
  if (moves && !in_order(operands[0].dims, results[0].dims)) return std::nullopt;
  for (const Factor& factor : step.op()->roles({step.attributes(), operands}, results))
    if (factor.kind != Factor::Kind::kPass && (moves || factor.kind != Factor::Kind::kReduce))
      return std::nullopt;
  return moves ? MemberKind::kBroadcast : MemberKind::kReduction;
}

Extent FusedGrid::extent(const Dims& value) const {
  if (value.size() == dims.size()) return Extent::kElement;
  if (value.empty()) return Extent::kSingle;
  return same_names(value, std::span(dims).first(row_dims)) ? Extent::kRow : Extent::kColumn;
}

Dims FusedGrid::dims_of(Extent extent) const {
  const auto split = dims.begin() + static_cast<std::ptrdiff_t>(row_dims);
  switch (extent) {
    case Extent::kElement:
      return dims;
    case Extent::kRow:
      return Dims(dims.begin(), split);
    case Extent::kColumn:
      return Dims(split, dims.end());
    case Extent::kSingle:
      return {};
  }
  return {};
}

std::optional<FusedGrid> find_grid(const EntryPoint& entry, std::span<const Step* const> members,
                                   const std::function<bool(ValueId)>& is_needed, const Mesh& mesh) {
  return GridFinder(entry, members, is_needed, mesh).run();
}

std::optional<FusedGrid> find_grid(const EntryPoint& entry, const Step& fused, const Mesh& mesh) {
  std::vector<const Step*> members;
  for (const Step& member : fused.members()) members.push_back(&member);
  return find_grid(
      entry, members,
      [&](ValueId id) {
        return std::find(fused.outputs.begin(), fused.outputs.end(), id) != fused.outputs.end();
      },
      mesh);
}

bool may_overwrite(const EntryPoint& entry, const Step& fused, ValueId operand, ValueId result) {
  const auto type = [&](ValueId id) -> const TensorType& { return entry.values[id].type; };
  size_t writer = 0, reader = 0;
  for (size_t p = 0; p < fused.members().size(); ++p) {
    const Step& member = fused.members()[p];
    if (member.outputs[0] == result) {
      writer = p;
      // Sums over rows or columns are written when everything has been read.
      if (member_kind(entry, member) == MemberKind::kReduction) return false;
    }
    for (const ValueId id : member.inputs) {
      if (root_of(entry, id) != root_of(entry, operand)) continue;
      if (type(id) != type(result)) return false;
      reader = p;
    }
  }
  return reader <= writer;
}

}  // namespace mtfc
