#include "core/op_rules/pieces.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/diagnostics/error.h"
#include "core/op_rules/operation_rules.h"
#include "core/tensors/division.h"

namespace mtfc {
namespace {

// The values of i for which begin + i*step lies in `held`.
Interval indices_within(int64_t begin, int64_t step, Interval held) {
  if (step < 0) return {floor_div(begin - held.end, -step) + 1, floor_div(begin - held.begin, -step) + 1};
  return {-floor_div(begin - held.begin, step), -floor_div(begin - held.end, step)};
}

// The indices of a piece's elements that lie in both regions.
Interval common_part(const Piece& piece, Interval from, Interval to) {
  const Interval a = indices_within(piece.from, piece.from_step, from);
  const Interval b = indices_within(piece.to, piece.to_step, to);
  const int64_t begin = std::max<int64_t>({0, a.begin, b.begin});
  return {begin, std::max(begin, std::min({piece.count, a.end, b.end}))};
}

Interval intersection(Interval a, Interval b) {
  const int64_t begin = std::max(a.begin, b.begin);
  return {begin, std::max(begin, std::min(a.end, b.end))};
}

std::vector<int64_t> strides(const Box& box) {
  std::vector<int64_t> found(box.size(), 1);
  for (size_t i = box.size(); i-- > 1;) found[i - 1] = found[i] * box[i].size();
  return found;
}

struct Loop {
  int64_t count, from_step, to_step;
};

// Appends the runs of a loop nest, outermost loop first. Loops that continue one another become one run.
void unroll(std::vector<Loop> nest, int64_t from, int64_t to, std::vector<Run>& runs) {
  std::erase_if(nest, [](const Loop& loop) { return loop.count == 1; });
  for (size_t i = nest.size(); i-- > 1;) {
    Loop &outer = nest[i - 1], inner = nest[i];
    if (outer.from_step != inner.count * inner.from_step || outer.to_step != inner.count * inner.to_step)
      continue;
    outer = {outer.count * inner.count, inner.from_step, inner.to_step};
    nest.erase(nest.begin() + static_cast<std::ptrdiff_t>(i));
  }
  const Loop last = nest.empty() ? Loop{1, 1, 1} : nest.back();
  if (!nest.empty()) nest.pop_back();
  std::vector<int64_t> at(nest.size(), 0);
  for (;;) {
    runs.push_back({from, to, last.count, last.from_step, last.to_step});
    size_t i = nest.size();
    while (i > 0) {
      --i;
      from += nest[i].from_step;
      to += nest[i].to_step;
      if (++at[i] < nest[i].count) break;
      from -= nest[i].count * nest[i].from_step;
      to -= nest[i].count * nest[i].to_step;
      at[i] = 0;
      if (i == 0) return;
    }
    if (nest.empty()) return;
  }
}

}  // namespace

std::vector<Factor> piece_factors(const OpCall& call, std::span<const TensorType> results,
                                  const MovedDim& dim) {
  std::vector<Factor> factors;
  for (const Dim& other : results[0].dims)
    if (other.name != dim.to) factors.push_back(factor(other.name, Factor::Kind::kPass, call, results));
  Factor moved{Factor::Kind::kPermuted, {}, {position(results[0].dims, dim.to)}};
  for (size_t i = 0; i < call.operands.size(); ++i)
    moved.operands.push_back(position(call.operands[i].dims, dim.from[i]));
  moved.pieces = dim.pieces;
  moved.fill = dim.fill;
  factors.push_back(std::move(moved));
  return factors;
}

std::vector<TensorType> infer_moved(const OpCall& call) {
  require_known({call.attributes.get<Dim>("dim")}, call.operands[0].dims, to_string(call.operands[0]), "dim");
  return {call.operands[0]};
}

Dims replaced_dim(const OpCall& call, const Dims& dims, const std::string& dim, int64_t size) {
  const auto at = static_cast<size_t>(position(dims, dim));
  const Dim to = call.attributes.get_or("to", dims[at]);
  if (to.size != size && !call.attributes.has("to"))
    throw OpError{
        fmt::format("'{}' goes from {} to {} elements, so the result's dimension needs a name of its own",
                    dim, dims[at].size, size),
        "declare a dimension of that size and name it as 'to'", -1, "dim"};
  if (to.size != size)
    throw OpError{
        fmt::format("the result has {} elements along '{}', but '{}' has {}", size, dim, to.name, to.size),
        "", -1, "to"};
  if (to.name != dim && contains(dims, to.name))
    throw OpError{fmt::format("[{}] has a dimension '{}' already", to_string(dims), to.name),
                  "name another dimension as 'to', or rename that one", -1, "to"};
  Dims result = dims;
  result[at] = to;
  return result;
}

const Factor* moved_factor(const std::vector<Factor>& factors) {
  for (const Factor& factor : factors)
    if (factor.kind == Factor::Kind::kPermuted) return &factor;
  return nullptr;
}

PieceMap::PieceMap(const OpDef& op, const Attributes& attributes, std::span<const TensorType> operands,
                   std::span<const TensorType> results) {
  const std::vector<Factor> factors = op.roles({attributes, operands}, results);
  const Factor* moved = moved_factor(factors);
  check_invariant(moved != nullptr, "an operation moves no pieces");
  moved_ = *moved;
  look(operands, results[0]);
}

void PieceMap::look(std::span<const TensorType> operands, const TensorType& result) {
  for (size_t k = 0; k < operands.size(); ++k) {
    positions_.emplace_back();
    for (size_t d = 0; d < result.dims.size(); ++d)
      positions_.back().push_back(static_cast<int>(d) == moved_.results[0]
                                      ? moved_.operands[k]
                                      : position(operands[k].dims, result.dims[d].name));
  }
  int64_t given = 0;
  for (const Piece& piece : moved_.pieces) given += piece.count;
  covers_all_ = given == result.dims[static_cast<size_t>(moved_.results[0])].size;
}

int64_t PieceMap::count(size_t operand) const {
  return std::count_if(moved_.pieces.begin(), moved_.pieces.end(),
                       [&](const Piece& piece) { return piece.operand == static_cast<int>(operand); });
}

int64_t PieceMap::common_along(size_t operand, size_t dim, Interval from, Interval to) const {
  if (!moves(dim)) return intersection(from, to).size();
  int64_t count = 0;
  for (const Piece& piece : moved_.pieces)
    if (piece.operand == static_cast<int>(operand)) count += common_part(piece, from, to).size();
  return count;
}

int64_t PieceMap::common_elements(size_t operand, const Box& from, const Box& to) const {
  int64_t count = 1;
  for (size_t d = 0; d < to.size(); ++d)
    count *= common_along(operand, d, from[operand_dim(operand, d)], to[d]);
  return count;
}

void PieceMap::append_runs(size_t operand, const Box& from, const Box& to, std::vector<Run>& runs) const {
  const std::vector<int64_t> from_strides = strides(from), to_strides = strides(to);
  for (const Piece& piece : moved_.pieces) {
    if (piece.operand != static_cast<int>(operand)) continue;
    std::vector<Loop> nest;
    int64_t from_start = 0, to_start = 0;
    for (size_t d = 0; d < to.size(); ++d) {
      const auto p = static_cast<size_t>(positions_[operand][d]);
      const bool moves = static_cast<int>(d) == moved_.results[0];
      const Interval held = moves ? common_part(piece, from[p], to[d]) : intersection(from[p], to[d]);
      const int64_t from_first = moves ? piece.from + held.begin * piece.from_step : held.begin;
      const int64_t to_first = moves ? piece.to + held.begin * piece.to_step : held.begin;
      nest.push_back({held.size(), from_strides[p] * (moves ? piece.from_step : 1),
                      to_strides[d] * (moves ? piece.to_step : 1)});
      from_start += (from_first - from[p].begin) * from_strides[p];
      to_start += (to_first - to[d].begin) * to_strides[d];
    }
    const bool empty =
        std::any_of(nest.begin(), nest.end(), [](const Loop& loop) { return loop.count == 0; });
    if (!empty) unroll(std::move(nest), from_start, to_start, runs);
  }
}

}  // namespace mtfc
