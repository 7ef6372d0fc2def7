#include <algorithm>

#include "runtime/testing/drawn_operations.h"

namespace mtfc {
namespace {

Dims with_front(CaseDraft& draft, const Dim& front, const Dims& rest) {
  Dims dims{front};
  for (const Dim& dim : rest)
    dims.push_back(contains(dims, dim.name) ? draft.dim_of_size(dim.size, unite(dims, rest)) : dim);
  return dims;
}

void draw_split(CaseDraft& draft, const Facts& x, const Dim& dim) {
  Dims parts;
  for (int64_t rest = dim.size; rest > 0; rest -= parts.back().size) {
    const auto size = 1 + static_cast<int64_t>(draft.below(static_cast<size_t>(rest)));
    parts.push_back(draft.dim_of_size(size, x.type.dims));
  }
  draft.add({.kind = "split", .operands = {x.ref}, .attributes = {{"dim", dim}, {"to", parts}}}, x.bound,
            x.low, x.exact);
}

Facts leaf_of(CaseDraft& draft, const Facts& like) {
  const bool whole = !is_float(like.type.dtype);
  return like.type.dtype == DType::kBool ? draft.leaf(DType::kBool, like.type.dims, Fill::kBool)
                                         : draft.leaf_or_sum(like.type, whole ? Fill::kSteps : Fill::kNormal);
}

}  // namespace

void draw_relabeling(CaseDraft& draft) {
  const std::optional<Facts> x = draft.pick([](const Facts& f) { return !f.type.dims.empty(); });
  if (!x) return;
  const Dims& dims = x->type.dims;
  if (draft.chance(0.5)) {
    std::vector<Renaming> map;
    Dims taken = dims;
    for (const Dim& dim : draft.some_of(dims, 1)) {
      map.push_back({dim.name, draft.dim_of_size(dim.size, taken)});
      taken = unite(taken, {map.back().to});
    }
    draft.add({.kind = "rename", .operands = {x->ref}, .attributes = {{"map", map}}}, x->bound, x->low,
              x->exact);
    return;
  }
  Dims to = draft.factored(elements(dims));
  // Half of the time what the shapes have in front in common stays.
  if (draft.chance(0.5) && dims.size() > 1)
    to = with_front(draft, dims[0], draft.factored(elements(dims) / dims[0].size));
  draft.add({.kind = "reshape", .operands = {x->ref}, .attributes = {{"dims", to}}}, x->bound, x->low,
            x->exact);
}

void draw_move(CaseDraft& draft) {
  const std::optional<Facts> x = draft.pick([](const Facts& f) { return elements(f.type.dims) <= 200; });
  if (!x) return;
  Dims dims = x->type.dims;
  const bool broadcast = draft.chance(0.5);
  if (broadcast) {
    dims = unite(dims, draft.random_dims(0, 2));
    if (elements(dims) > CaseDraft::kMostElements) return;
  }
  draft.add({.kind = broadcast ? "broadcast" : "transpose",
             .operands = {x->ref},
             .attributes = {{"dims", draft.chance(0.6) ? draft.shuffled(dims) : dims}}},
            x->bound, x->low, x->exact);
}

void draw_pieces(CaseDraft& draft) {
  const std::optional<Facts> x = draft.pick([](const Facts& f) { return !f.type.dims.empty(); });
  if (!x) return;
  const Dim dim = draft.any(x->type.dims);
  const auto moved = [&](const char* kind, Attributes attributes, double low) {
    attributes.set("dim", dim);
    draft.add({.kind = kind, .operands = {x->ref}, .attributes = attributes}, x->bound, low, x->exact);
  };
  const auto number = [&](int64_t limit) {
    return static_cast<int64_t>(draft.below(static_cast<size_t>(limit)));
  };
  const double low = std::min(x->low, 0.0);
  switch (draft.below(5)) {
    case 0: {
      const int64_t start = number(dim.size), limit = start + 1 + number(dim.size - start),
                    stride = 1 + number(3);
      return moved("slice",
                   {{"start", start},
                    {"limit", limit},
                    {"stride", stride},
                    {"to", draft.dim_of_size((limit - start + stride - 1) / stride, x->type.dims)}},
                   x->low);
    }
    case 1: {
      const int64_t before = number(4), after = number(4), between = number(3);
      const int64_t size = before + dim.size + (dim.size - 1) * between + after;
      return moved("pad",
                   {{"low", before},
                    {"high", after},
                    {"interior", between},
                    {"to", draft.dim_of_size(size, x->type.dims)}},
                   low);
    }
    case 2:
      return moved("reverse", {}, x->low);
    case 3:
      return draw_split(draft, *x, dim);
    default:
      return moved("shift", {{"by", number(2 * dim.size + 3) - dim.size - 1}, {"wrap", draft.chance(0.5)}},
                   low);
  }
}

void draw_join(CaseDraft& draft) {
  const std::optional<Facts> x = draft.pick([](const Facts& f) {
    return !f.type.dims.empty() && elements(f.type.dims) <= CaseDraft::kMostElements / 3;
  });
  if (!x) return;
  const Dim dim = draft.any(x->type.dims);
  const bool stacked = draft.chance(0.3);
  std::vector<Facts> operands{*x};
  const size_t count = 1 + draft.below(3);
  while (operands.size() < count) {
    const std::optional<Facts> same = draft.pick(
        [&](const Facts& f) { return f.type.dtype == x->type.dtype && same_set(f.type.dims, x->type.dims); });
    operands.push_back(same && draft.chance(0.6) ? *same : leaf_of(draft, *x));
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
  const Dim to = draft.dim_of_size(stacked ? operand_count : operand_count * dim.size, x->type.dims);
  item.attributes = stacked ? Attributes{{"dim", to}} : Attributes{{"dim", Dims{dim}}, {"to", to}};
  if (const Dims others = stacked ? x->type.dims : without(x->type.dims, Dims{dim});
      !others.empty() && draft.chance(0.4))
    item.attributes.set(draft.chance(0.5) ? "before" : "after", draft.any(others));
  draft.add(std::move(item), bound, low, exact);
}

}  // namespace mtfc
