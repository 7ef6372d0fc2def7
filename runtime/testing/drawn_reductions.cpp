#include <algorithm>
#include <cmath>

#include "runtime/testing/drawn_operations.h"

namespace mtfc {
namespace {

void draw_argmax(CaseDraft& draft, const Facts& x) {
  if (x.type.dims.empty()) return;
  const Dims over{draft.any(x.type.dims)};
  draft.add({.kind = "argmax", .operands = {x.ref}, .attributes = {{"over", over}}}, 9, 0, true);
}

// The extremum of numbers that are no integers. Its gradient would depend on how ties are rounded.
void draw_rough_extremum(CaseDraft& draft, const Facts& x, const Attributes& attributes) {
  const std::optional<Facts> stopped =
      draft.add({.kind = "stop_gradient", .operands = {x.ref}}, x.bound, x.low, false);
  if (stopped)
    draft.add({.kind = draft.chance(0.5) ? "reduce_max" : "reduce_min",
               .operands = {stopped->ref},
               .attributes = attributes},
              x.bound, x.low, false);
}

}  // namespace

void draw_merge(CaseDraft& draft) {
  const TensorType type{draft.float_type(), draft.random_dims(0, 2)};
  const Facts a = draft.sum_leaf(type, Fill::kNormal), b = draft.sum_leaf(type, Fill::kNormal);
  const double bound = a.bound + b.bound;
  std::vector<TensorRef> operands{a.ref, b.ref};
  if (draft.chance(0.3)) {
    operands.insert(operands.begin(), draft.leaf(DType::kBool, draft.some_of(type.dims, 0), Fill::kBool).ref);
    draft.add({.kind = "where", .operands = operands, .attributes = {{"dims", type.dims}}}, bound, -bound,
              false);
  } else {
    draft.add({.kind = draft.chance(0.5) ? "add" : "sub", .operands = operands}, bound, -bound, false);
  }
}

void draw_reduction(CaseDraft& draft) {
  const std::optional<Facts> x =
      draft.pick([](const Facts& f) { return f.type.dtype != DType::kBool && !f.type.dims.empty(); });
  if (!x) return;
  Attributes attributes;
  if (draft.chance(0.9)) {
    Dims over = draft.some_of(x->type.dims, 1);
    if (over.size() == x->type.dims.size() && draft.chance(0.7)) over.pop_back();
    attributes = {{"over", over}};
    if (draft.chance(0.4)) attributes = {{"dims", draft.shuffled(without(x->type.dims, over))}};
  }
  const double count = static_cast<double>(elements(x->type.dims));
  const auto reduce = [&](const char* kind, double bound, double low, bool exact) {
    draft.add({.kind = kind, .operands = {x->ref}, .attributes = attributes}, bound, low, exact);
  };
  switch (draft.below(x->exact ? 6 : 3)) {
    case 0:
    case 3:
      return reduce("reduce_sum", x->bound * count, x->low > 0 ? x->low : x->low * count, x->exact);
    case 1:
      return is_float(x->type.dtype) ? reduce("reduce_mean", x->bound, x->low, false) : void();
    case 2:
      if (!x->exact) return draw_rough_extremum(draft, *x, attributes);
      [[fallthrough]];
    case 4:
      return reduce(draft.chance(0.5) ? "reduce_max" : "reduce_min", x->bound, x->low, true);
    default:
      draw_argmax(draft, *x);
  }
}

void draw_rare_reduction(CaseDraft& draft) {
  const bool product = draft.chance(0.5);
  const std::optional<Facts> x = draft.pick([&](const Facts& f) {
    return !f.type.dims.empty() &&
           (product ? f.bound <= 2 && f.type.dtype != DType::kBool : f.type.dtype == DType::kBool);
  });
  if (!x) return;
  const Dims over = draft.some_of(x->type.dims, 1);
  const double count = static_cast<double>(elements(over));
  if (product && count > 12) return;
  const double bound = product ? std::pow(std::max(1.0, x->bound), count) : 1;
  const char* kind = product ? "reduce_prod" : draft.chance(0.5) ? "reduce_any" : "reduce_all";
  draft.add({.kind = kind, .operands = {x->ref}, .attributes = {{"over", over}}}, bound, product ? -bound : 0,
            x->exact);
}

// Operands that share their dimensions in a ring: products of two of them have dimensions that no operand
// has together, and that a layout may split over one axis.
void draw_ring(CaseDraft& draft) {
  const Dims dims = draft.shuffled(draft.all_dims());
  const size_t count = std::min<size_t>(dims.size(), 3 + draft.below(2));
  std::vector<TensorRef> refs;
  double bound = 1;
  for (size_t i = 0; i < count; ++i) {
    const Facts operand =
        draft.leaf_or_sum({draft.float_type(), {dims[i], dims[(i + 1) % count]}}, Fill::kNormal);
    refs.push_back(operand.ref);
    bound *= operand.bound * static_cast<double>(dims[i].size);
  }
  const Dims kept = draft.chance(0.5) ? Dims{} : Dims{dims[0]};
  const std::optional<Facts> product =
      draft.add({.kind = "einsum", .operands = refs, .attributes = {{"dims", kept}}}, bound, -bound, false);
  if (product && bound > 1e3) draft.add({.kind = "tanh", .operands = {product->ref}}, 1, -1, false);
}

void draw_contraction(CaseDraft& draft) {
  const std::optional<Facts> a = draft.pick_number();
  if (!a) return;
  std::vector<Facts> operands{*a};
  const size_t count = 1 + draft.below(10) / 3;
  Dims all = a->type.dims;
  double bound = a->bound;
  bool exact = a->exact;
  while (operands.size() < count) {
    const Facts b = draft.chance(0.5) ? partner(draft, *a, false).value_or(*a)
                                      : draft.leaf(a->type.dtype, draft.random_dims(1, 3),
                                                   is_float(a->type.dtype) ? Fill::kNormal : Fill::kSteps);
    if (elements(unite(all, b.type.dims)) > 4 * CaseDraft::kMostElements) break;
    operands.push_back(b);
    all = unite(all, b.type.dims);
    bound *= b.bound;
    exact &= b.exact;
  }
  std::vector<TensorRef> refs;
  for (const Facts& facts : operands) refs.push_back(facts.ref);
  bound *= static_cast<double>(elements(all));
  Attributes attributes{{"dims", draft.some_of(all, 0)}};
  if (draft.chance(0.2)) attributes = {{"over", draft.some_of(all, 0)}};
  draft.add({.kind = "einsum", .operands = refs, .attributes = attributes}, bound, -bound, exact);
}

}  // namespace mtfc
