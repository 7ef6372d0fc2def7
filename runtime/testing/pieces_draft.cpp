#include "runtime/testing/pieces_draft.h"

namespace mtfc {

void PiecesDraft::pieces() {
  const std::optional<Facts> x = pick([](const Facts& f) { return !f.type.dims.empty(); });
  if (!x) return;
  const Dim dim = any(x->type.dims);
  const auto moved = [&](const char* kind, Attributes attributes, double low) {
    attributes.set("dim", dim);
    add({.kind = kind, .operands = {x->ref}, .attributes = attributes}, x->bound, low, x->exact);
  };
  const auto number = [&](int64_t limit) { return static_cast<int64_t>(below(static_cast<size_t>(limit))); };
  const double low = std::min(x->low, 0.0);
  switch (below(5)) {
    case 0: {
      const int64_t start = number(dim.size), limit = start + 1 + number(dim.size - start),
                    stride = 1 + number(3);
      return moved("slice",
                   {{"start", start},
                    {"limit", limit},
                    {"stride", stride},
                    {"to", dim_of_size((limit - start + stride - 1) / stride, x->type.dims)}},
                   x->low);
    }
    case 1: {
      const int64_t before = number(4), after = number(4), between = number(3);
      const int64_t size = before + dim.size + (dim.size - 1) * between + after;
      return moved(
          "pad",
          {{"low", before}, {"high", after}, {"interior", between}, {"to", dim_of_size(size, x->type.dims)}},
          low);
    }
    case 2:
      return moved("reverse", {}, x->low);
    case 3:
      return split(*x, dim);
    default:
      return moved("shift", {{"by", number(2 * dim.size + 3) - dim.size - 1}, {"wrap", chance(0.5)}}, low);
  }
}

void PiecesDraft::split(const Facts& x, const Dim& dim) {
  Dims parts;
  for (int64_t rest = dim.size; rest > 0; rest -= parts.back().size) {
    const auto size = 1 + static_cast<int64_t>(below(static_cast<size_t>(rest)));
    parts.push_back(dim_of_size(size, x.type.dims));
  }
  add({.kind = "split", .operands = {x.ref}, .attributes = {{"dim", dim}, {"to", parts}}}, x.bound, x.low,
      x.exact);
}

void PiecesDraft::join() {
  const std::optional<Facts> x =
      pick([](const Facts& f) { return !f.type.dims.empty() && elements(f.type.dims) <= kMostElements / 3; });
  if (!x) return;
  const Dim dim = any(x->type.dims);
  const bool stacked = chance(0.3);
  std::vector<Facts> operands{*x};
  const size_t count = 1 + below(3);
  while (operands.size() < count) {
    const std::optional<Facts> same = pick(
        [&](const Facts& f) { return f.type.dtype == x->type.dtype && same_set(f.type.dims, x->type.dims); });
    operands.push_back(same && chance(0.6) ? *same : leaf_of(*x));
  }
  Item item{.kind = stacked ? "stack" : "concat"};
  double bound = 0, low = x->low;
  bool exact = true;
  for (const Facts& facts : operands) {
    item.operands.push_back(facts.ref);
    bound = std::max(bound, facts.bound);
    low = std::min(low, facts.low);
    exact &= facts.exact;
  }
  const auto operand_count = static_cast<int64_t>(operands.size());
  const Dim to = dim_of_size(stacked ? operand_count : operand_count * dim.size, x->type.dims);
  item.attributes = stacked ? Attributes{{"dim", to}} : Attributes{{"dim", Dims{dim}}, {"to", to}};
  add(std::move(item), bound, low, exact);
}

Facts PiecesDraft::leaf_of(const Facts& like) {
  const bool whole = !is_float(like.type.dtype);
  return like.type.dtype == DType::kBool ? leaf(DType::kBool, like.type.dims, Fill::kBool)
                                         : leaf_or_sum(like.type, whole ? Fill::kSteps : Fill::kNormal);
}

}  // namespace mtfc
