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

Extent extent_on(std::span<const Dim> grid, size_t row_dims, const Dims& value) {
  if (value.size() == grid.size()) return Extent::kElement;
  if (value.empty()) return Extent::kSingle;
  return same_names(value, grid.first(row_dims)) ? Extent::kRow : Extent::kColumn;
}

class GridFinder {
 public:
  GridFinder(const EntryPoint& entry, std::span<const GridMember> members,
             const std::function<bool(ValueId)>& is_needed, const Mesh& mesh)
      : entry_(entry), members_(members), needs_(is_needed), mesh_(mesh) {
    outputs_.reserve(members.size());
    for (const GridMember& member : members)
      outputs_.push_back(member.kind ? member.step->outputs[0] : kNoValue);
  }

  // True if there is a grid, which made() then gives.
  bool run() {
    if (std::any_of(members_.begin(), members_.end(), [](const GridMember& member) { return !member.kind; }))
      return false;
    for (size_t p = 0; p < members_.size(); ++p) {
      if (maker(output(p)) != p) return false;
      is_needed_.push_back(needs_(output(p)));
    }
    for (const GridMember& member : members_)
      for (const ValueId id : member.step->inputs)
        if (id != root_of(entry_, id) && maker(root_of(entry_, id))) return false;
    // Members may come in another order later, so that there must be a grid whichever of the inputs comes first.
    const std::vector<const Dims*> candidates = possible_dims();
    return std::any_of(candidates.begin(), candidates.end(), [&](const Dims* dims) {
      dims_ = dims;
      return choose_sharding() && choose_rows() && find_stages() && fits_cache();
    });
  }
  FusedGrid made() && {
    FusedGrid grid{*dims_, row_dims_, sharding(), std::vector<int>(members_.size()), std::move(stage_)};
    std::iota(grid.order.begin(), grid.order.end(), 0);
    const auto rank = [&](int p) {
      const GridMember& member = members_[index(p)];
      const bool reduces = member.kind == MemberKind::kReduction;
      const Extent worked = extent(reduces ? dims(member.step->inputs[0]) : result(index(p)));
      return std::pair(grid.stage[index(p)], worked == Extent::kElement);
    };
    std::stable_sort(grid.order.begin(), grid.order.end(), [&](int a, int b) { return rank(a) < rank(b); });
    return grid;
  }

 private:
  static size_t index(int id) { return static_cast<size_t>(id); }
  const Value& value(ValueId id) const { return entry_.values[id]; }
  const Dims& dims(ValueId id) const { return value(id).type.dims; }
  ValueId output(size_t p) const { return outputs_[p]; }
  // The first member that makes the value, or nothing. A unit has few members.
  std::optional<size_t> maker(ValueId id) const {
    const auto at = std::find(outputs_.begin(), outputs_.end(), id);
    return at == outputs_.end() ? std::nullopt : std::optional(static_cast<size_t>(at - outputs_.begin()));
  }
  const Dims& result(size_t p) const { return dims(output(p)); }
  Extent extent(const Dims& of) const { return extent_on(*dims_, row_dims_, of); }
  Sharding sharding() const {
    Sharding split;
    for (const AxisList* axes : axes_) split.dims.push_back(*axes);
    return split;
  }

  // The dimensions of the largest tensor, in the orders that the grid may have them: that of the outputs of this size,
  // which must agree, or else those of inputs.
  std::vector<const Dims*> possible_dims() const {
    const Dims* most = &result(0);
    for (size_t p = 0; p < members_.size(); ++p) {
      const Dims& size =
          members_[p].kind == MemberKind::kReduction ? dims(members_[p].step->inputs[0]) : result(p);
      if (size.size() > most->size()) most = &size;
    }
    const Dims* chosen = nullptr;
    for (size_t p = 0; p < members_.size(); ++p)
      if (is_needed_[p] && same_names(result(p), *most)) {
        if (chosen && *chosen != result(p)) return {};
        chosen = &result(p);
      }
    if (chosen) return {chosen};
    std::vector<const Dims*> found;
    for (const GridMember& member : members_)
      for (const ValueId id : member.step->inputs)
        if (!maker(id) && same_names(dims(id), *most) &&
            std::none_of(found.begin(), found.end(), [&](const Dims* known) { return *known == dims(id); }))
          found.push_back(&dims(id));
    if (found.empty()) found.push_back(most);
    return found;
  }

  // Returns false unless every value has only dimensions of the grid, each split in only one way.
  bool choose_sharding() {
    axes_.assign(dims_->size(), nullptr);
    for (const GridMember& member : members_)
      for (const std::vector<ValueId>* values : {&member.step->inputs, &member.step->outputs})
        for (const ValueId id : *values)
          for (size_t i = 0; i < dims(id).size(); ++i) {
            const int at = position(*dims_, dims(id)[i].name);
            if (at < 0) return false;
            const AxisList& own = value(id).sharding.dims[i];
            const AxisList*& known = axes_[index(at)];
            if (known && *known != own) return false;
            known = &own;
          }
    return true;
  }

  bool choose_rows() {
    std::optional<size_t> rows;
    const auto agree = [&](size_t count) { return rows.value_or(count) == count && (rows = count, true); };
    const std::span<const Dim> all = *dims_;
    for (size_t p = 0; p < members_.size(); ++p) {
      const Dims& made = result(p);
      if (made.empty() || made.size() == all.size()) continue;
      if (same_names(made, all.first(made.size()))) {
        if (!agree(made.size())) return false;
      } else if (members_[p].kind == MemberKind::kReduction && same_names(made, all.last(made.size()))) {
        if (!agree(all.size() - made.size())) return false;
      } else {
        return false;
      }
    }
    // An input that is repeated for every row is best read in place, so its dimensions become the columns.
    if (!rows)
      for (const GridMember& member : members_)
        for (const ValueId id : member.step->inputs)
          if (!rows && !dims(id).empty() && dims(id).size() < all.size() &&
              std::equal(dims(id).begin(), dims(id).end(), all.last(dims(id).size()).begin()))
            rows = all.size() - dims(id).size();
    row_dims_ = rows.value_or(0);
    for (size_t p = 0; p < members_.size(); ++p)
      if (is_needed_[p] && !in_order(result(p), *dims_)) return false;
    return true;
  }

  bool find_stages() {
    // The stage from which on a member's result may be used, or -1.
    std::vector<int> ready(members_.size(), 0);
    stage_.assign(members_.size(), 0);
    for (size_t p = 0; p < members_.size(); ++p) {
      const Extent made = extent(result(p));
      for (const ValueId id : members_[p].step->inputs) {
        const std::optional<size_t> by = maker(id);
        if (!by) continue;
        if (*by >= p || ready[*by] < 0) return false;
        stage_[p] = std::max(stage_[p], ready[*by]);
      }
      ready[p] = stage_[p];
      if (members_[p].kind != MemberKind::kReduction) continue;
      const Extent from = extent(dims(members_[p].step->inputs[0]));
      if (from == Extent::kSingle || from == Extent::kColumn || made == from) return false;
      // Devices with different columns would cut the rows into different blocks, but the values that they
      // share must be the same bit for bit.
      if (from == Extent::kRow && columns_are_split()) return false;
      // A stage works through its rows before its elements.
      ready[p] = made == Extent::kRow ? stage_[p] + 1 : -1;
    }
    postpone();
    return true;
  }

  // Moves members that are computed per element from rows and inputs to the stage of their first user, so
  // that their values need not be kept.
  void postpone() {
    for (size_t p = members_.size(); p-- > 0;) {
      if (members_[p].kind == MemberKind::kReduction || extent(result(p)) != Extent::kElement) continue;
      if (is_needed_[p] || reads_elements_made_here(p)) continue;
      std::optional<int> used;
      for (size_t user = p + 1; user < members_.size(); ++user)
        for (const ValueId id : members_[user].step->inputs)
          if (id == output(p)) used = std::min(used.value_or(INT_MAX), stage_[user]);
      if (used) stage_[p] = *used;
    }
  }

  // True if a member reads elements made in this step, other than those that can be postponed as well.
  bool reads_elements_made_here(size_t p) const {
    return std::any_of(members_[p].step->inputs.begin(), members_[p].step->inputs.end(), [&](ValueId id) {
      const std::optional<size_t> by = maker(id);
      return by && extent(dims(id)) == Extent::kElement &&
             (is_needed_[*by] || members_[*by].kind == MemberKind::kReduction ||
              reads_elements_made_here(*by));
    });
  }

  bool columns_are_split() const {
    return std::any_of(axes_.begin() + static_cast<std::ptrdiff_t>(row_dims_), axes_.end(),
                       [](const AxisList* split) { return !split->empty(); });
  }

  bool fits_cache() const {
    const auto makes = [&](Extent extent) {
      for (size_t p = 0; p < members_.size(); ++p)
        if (this->extent(result(p)) == extent) return true;
      return false;
    };
    const bool makes_rows = makes(Extent::kRow), makes_columns = makes(Extent::kColumn);
    if (!makes_rows && !makes_columns) return true;
    const LocalDims largest = largest_dims(*dims_, sharding(), mesh_);
    const auto split = largest.begin() + static_cast<std::ptrdiff_t>(row_dims_);
    const int64_t rows = elements(LocalDims(largest.begin(), split)),
                  columns = elements(LocalDims(split, largest.end()));
    if (makes_columns && columns > kMostSums) return false;
    return !makes_rows || (columns <= kLongestRow && (columns <= kLongRow || rows >= kFewRows));
  }

  const EntryPoint& entry_;
  std::span<const GridMember> members_;
  const std::function<bool(ValueId)>& needs_;
  const Mesh& mesh_;
  std::vector<ValueId> outputs_;       // the value that each member makes
  std::vector<bool> is_needed_;        // that value
  const Dims* dims_ = nullptr;         // of the grid
  std::vector<const AxisList*> axes_;  // that split them
  size_t row_dims_ = 0;
  std::vector<int> stage_;
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
  return extent_on(dims, row_dims, value);
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

std::optional<FusedGrid> find_grid(const EntryPoint& entry, std::span<const GridMember> members,
                                   const std::function<bool(ValueId)>& is_needed, const Mesh& mesh) {
  GridFinder finder(entry, members, is_needed, mesh);
  return finder.run() ? std::optional(std::move(finder).made()) : std::nullopt;
}

bool have_grid(const EntryPoint& entry, std::span<const GridMember> members,
               const std::function<bool(ValueId)>& is_needed, const Mesh& mesh) {
  return GridFinder(entry, members, is_needed, mesh).run();
}

std::optional<FusedGrid> find_grid(const EntryPoint& entry, const Step& fused, const Mesh& mesh) {
  std::vector<GridMember> members;
  for (const Step& member : fused.members()) members.push_back({&member, member_kind(entry, member)});
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
