#include <algorithm>
#include <cmath>

#include "runtime/testing/drawn_operations.h"

namespace mtfc {
namespace {

// If elements hardly differ, these operations multiply rounding errors by hundreds.
void draw_norm(CaseDraft& draft, const Facts& x, const Dims& over) {
  if (x.type.dtype != DType::kF64 || x.bound > 10) return;
  const double bound = std::sqrt(static_cast<double>(elements(x.type.dims)));
  draft.add({.kind = draft.chance(0.5) ? "layer_norm" : "rms_norm",
             .operands = {x.ref},
             .attributes = {{"over", over}}},
            bound, -bound, false);
}

void draw_cross_entropy(CaseDraft& draft, const Facts& logits) {
  const Dim classes = draft.any(logits.type.dims);
  const Dims rest = without(logits.type.dims, {classes});
  const Facts labels = draft.chance(0.6)
                           ? draft.leaf(DType::kI32, draft.some_of(rest, 0), Fill::kIndex, classes.name)
                           : draft.leaf(logits.type.dtype, draft.shuffled(logits.type.dims), Fill::kPositive);
  const double bound = 2 * static_cast<double>(classes.size) * (2 * logits.bound + 8);
  draft.add({.kind = "softmax_cross_entropy",
             .operands = {logits.ref, labels.ref},
             .attributes = {{"over", Dims{classes}}}},
            bound, -bound, false);
}

}  // namespace

void draw_normalization(CaseDraft& draft) {
  const std::optional<Facts> x = draft.pick(
      [](const Facts& f) { return is_float(f.type.dtype) && !f.type.dims.empty() && f.bound < 100; });
  if (!x) return;
  const Dims over = draft.some_of(x->type.dims, 1);
  const double wide = 2 * x->bound + 8;
  switch (draft.below(6)) {
    case 0:
    case 1:
      draft.add({.kind = "softmax", .operands = {x->ref}, .attributes = {{"over", over}}}, 1, 0, false);
      return;
    case 2:
      draft.add({.kind = "log_softmax", .operands = {x->ref}, .attributes = {{"over", over}}}, wide, -wide,
                false);
      return;
    case 3:
      draft.add({.kind = "logsumexp", .operands = {x->ref}, .attributes = {{"over", over}}}, wide, -wide,
                false);
      return;
    case 4:
      return draw_cross_entropy(draft, *x);
    default:
      return draw_norm(draft, *x, over);
  }
}

void draw_dropout(CaseDraft& draft) {
  const std::vector<double> rates{0, 0.1, 0.5, 0.75};
  const double rate = draft.any(rates);
  if (const std::optional<Facts> x = draft.pick_float())
    draft.add({.kind = "dropout", .operands = {x->ref}, .attributes = {{"rate", rate}}},
              x->bound / (1 - rate), -x->bound / (1 - rate), false);
}

void draw_in_training(CaseDraft& draft) {
  const std::optional<Facts> x = draft.pick([](const Facts& f) { return f.type.dtype != DType::kBool; });
  if (!x) return;
  const Facts other =
      draft.leaf_or_sum(x->type, is_float(x->type.dtype) && !x->exact ? Fill::kNormal : Fill::kSteps);
  draft.add({.kind = "in_training", .operands = {x->ref, other.ref}}, std::max(x->bound, other.bound),
            std::min(x->low, other.low), x->exact && other.exact);
}

void draw_generator(CaseDraft& draft) {
  const std::vector<std::string> kinds{"random_normal", "random_truncated_normal", "random_uniform"};
  if (draft.chance(0.5)) {
    const Dim dim = draft.any(draft.all_dims());
    const std::vector<DType> dtypes{DType::kI32, DType::kI64, draft.float_type()};
    draft.add({.kind = "range", .attributes = {{"dim", dim}, {"dtype", draft.any(dtypes)}}},
              static_cast<double>(dim.size), 0, true);
  } else {
    draft.add({.kind = draft.any(kinds),
               .attributes = {{"dims", draft.random_dims(0, 3)}, {"dtype", draft.float_type()}}},
              6, -6, false);
  }
}

}  // namespace mtfc
