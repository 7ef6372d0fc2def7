#include <algorithm>
#include <cmath>

#include "runtime/testing/drawn_operations.h"

namespace mtfc {
namespace {

void draw_cast(CaseDraft& draft, const Facts& x) {
  std::vector<DType> to{draft.float_type(), draft.float_type(), DType::kF64, DType::kF32};
  if (x.exact) to = {draft.float_type(), DType::kI32, DType::kI64, DType::kBool};
  const DType dtype = draft.any(to);
  const double low = dtype == DType::kBool ? 0 : x.low;
  draft.add({.kind = "cast", .operands = {x.ref}, .attributes = {{"dtype", dtype}}}, x.bound, low, x.exact);
}

std::optional<Facts> constant(CaseDraft& draft, DType dtype) {
  const std::vector<double> numbers{0, 0, 1, 1, -1, 2, 0.5};
  double value = draft.any(numbers);
  if (!is_float(dtype)) value = std::trunc(value);
  return draft.add({.kind = "constant", .attributes = {{"value", value}, {"dtype", dtype}}}, std::abs(value),
                   value, value == std::trunc(value));
}

Attributes result_order(CaseDraft& draft, const std::vector<Facts>& operands) {
  if (!draft.chance(0.2)) return {};
  Dims all;
  for (const Facts& facts : operands) all = unite(all, facts.type.dims);
  return {{"dims", draft.shuffled(all)}};
}

void draw_quotient(CaseDraft& draft, const Facts& a) {
  std::optional<Facts> b = draft.pick([&](const Facts& f) {
    return f.type.dtype == a.type.dtype && f.low >= 0.2 &&
           elements(unite(a.type.dims, f.type.dims)) <= CaseDraft::kMostElements;
  });
  if (!b) b = draft.leaf_or_sum({a.type.dtype, draft.some_of(a.type.dims, 0)}, Fill::kPositive);
  const double bound = a.bound / b->low;
  draft.add({.kind = "div", .operands = {a.ref, b->ref}, .attributes = result_order(draft, {a, *b})}, bound,
            a.low > 0 ? a.low / b->bound : -bound, false);
}

}  // namespace

std::optional<Facts> partner(CaseDraft& draft, const Facts& a, bool exact) {
  const DType dtype = a.type.dtype;
  if (draft.chance(0.1)) return a;
  if (draft.chance(0.15)) return constant(draft, dtype);
  if (draft.chance(0.15))
    return draft.leaf_or_sum({dtype, draft.some_of(a.type.dims, 0)},
                             exact || !is_float(dtype) ? Fill::kSteps : Fill::kNormal);
  return draft.pick([&](const Facts& f) {
    return f.type.dtype == dtype && (f.exact || !exact) &&
           elements(unite(a.type.dims, f.type.dims)) <= CaseDraft::kMostElements;
  });
}

void draw_smooth(CaseDraft& draft) {
  const std::optional<Facts> x = draft.pick_float();
  if (!x) return;
  const auto apply = [&](const char* kind, double bound, double low) {
    draft.add({.kind = kind, .operands = {x->ref}}, bound, low, false);
  };
  if (x->low >= 0.1 && draft.chance(0.6))
    return draft.chance(0.5) ? apply("log", std::abs(std::log(x->low)) + std::log(x->bound + 1), -100)
                             : apply("sqrt", std::sqrt(x->bound), std::sqrt(x->low));
  if (x->bound <= 3 && draft.chance(0.5)) return apply("exp", std::exp(x->bound), std::exp(-x->bound));
  if (x->bound <= 50 && draft.chance(0.3)) return apply("square", x->bound * x->bound, 0);
  apply("tanh", 1, -1);
}

void draw_unary(CaseDraft& draft) {
  const std::optional<Facts> x = draft.chance(0.5) ? draft.pick_exact() : draft.pick_number();
  if (!x) return;
  const double bound = x->bound;
  switch (draft.below(6)) {
    case 0:
      draft.add({.kind = "neg", .operands = {x->ref}}, bound, -bound, x->exact);
      return;
    case 1:
      if (x->exact) draft.add({.kind = "relu", .operands = {x->ref}}, bound, 0, true);
      return;
    case 2:
      if (bound < 100) draft.add({.kind = "square", .operands = {x->ref}}, bound * bound, 0, x->exact);
      return;
    case 3:
      draft.add({.kind = draft.chance(0.5) ? "identity" : "stop_gradient", .operands = {x->ref}}, bound,
                x->low, x->exact);
      return;
    default:
      draw_cast(draft, *x);
  }
}

void draw_arithmetic(CaseDraft& draft) {
  const std::optional<Facts> a = draft.pick_number();
  if (!a) return;
  std::optional<Facts> b = partner(draft, *a, false);
  if (is_float(a->type.dtype) && draft.chance(0.2)) return draw_quotient(draft, *a);
  if (!b) return;
  const bool exact = a->exact && b->exact;
  const Attributes attributes = result_order(draft, {*a, *b});
  const auto binary = [&](const char* kind, double bound, double low) {
    std::vector<TensorRef> operands{a->ref, b->ref};
    if (kind != std::string_view("sub") && draft.chance(0.3)) std::swap(operands[0], operands[1]);
    draft.add({.kind = kind, .operands = operands, .attributes = attributes}, bound, low, exact);
  };
  const double product = a->bound * b->bound;
  switch (draft.below(exact ? 4 : 3)) {
    case 0:
      return binary("add", a->bound + b->bound, a->low + b->low);
    case 1:
      return binary("sub", a->bound + b->bound, a->low - b->bound);
    case 2:
      return binary("mul", product, a->low > 0 && b->low > 0 ? a->low * b->low : -product);
    default:
      return binary("maximum", std::max(a->bound, b->bound), std::max(a->low, b->low));
  }
}

void draw_comparison(CaseDraft& draft) {
  std::optional<Facts> a = draft.pick_exact();
  if (!a)
    a = draft.leaf_or_sum({draft.chance(0.5) ? draft.float_type() : DType::kI32, draft.random_dims(0, 3)},
                          Fill::kSteps);
  const std::optional<Facts> b = partner(draft, *a, true);
  if (b && b->exact)
    draft.add({.kind = draft.chance(0.5) ? "equal" : "greater_equal",
               .operands = {a->ref, b->ref},
               .attributes = result_order(draft, {*a, *b})},
              1, 0, true);
}

void draw_choice(CaseDraft& draft) {
  const std::optional<Facts> x = draft.pick_number();
  if (!x) return;
  const std::optional<Facts> y = partner(draft, *x, false);
  std::optional<Facts> c = draft.pick([&](const Facts& f) {
    return f.type.dtype == DType::kBool &&
           elements(unite(x->type.dims, f.type.dims)) <= CaseDraft::kMostElements / 4;
  });
  if (!c) c = draft.leaf(DType::kBool, draft.some_of(x->type.dims, 0), Fill::kBool);
  if (y)
    draft.add({.kind = "where",
               .operands = {c->ref, x->ref, y->ref},
               .attributes = result_order(draft, {*c, *x, *y})},
              std::max(x->bound, y->bound), std::min(x->low, y->low), x->exact && y->exact);
}

}  // namespace mtfc
