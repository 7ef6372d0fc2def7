#include "runtime/testing/indexing_draft.h"

#include <cmath>

namespace mtfc {

Facts IndexingDraft::indices(const Dims& dims, const std::string& indexed) {
  if (chance(0.2)) {
    const Dim dim{indexed, case_.sizes.at(indexed)};
    const std::optional<Facts> range =
        add({.kind = "range", .attributes = {{"dim", dim}, {"dtype", DType::kI32}}}, 9, 0, true);
    if (range) return *range;
  }
  return leaf(chance(0.7) ? DType::kI32 : DType::kI64, dims, Fill::kIndex, indexed);
}

void IndexingDraft::one_hot() {
  const Dim dim = any(all_dims());
  const Facts index = indices(random_dims(0, 2), dim.name);
  const std::vector<DType> dtypes{float_, DType::kF32, DType::kI32, DType::kI64, DType::kBool};
  if (elements(unite(index.type.dims, {dim})) <= kMostElements)
    add({.kind = "one_hot", .operands = {index.ref}, .attributes = {{"dim", dim}, {"dtype", any(dtypes)}}}, 1,
        0, true);
}

void IndexingDraft::update_slice() {
  std::optional<Facts> tensor = pick([](const Facts& f) { return !f.type.dims.empty(); });
  if (chance(0.3)) tensor = sum_leaf({float_, random_dims(1, 2)}, Fill::kNormal);
  if (!tensor) return;
  const TensorType& type = tensor->type;
  const Dim dim = any(type.dims);
  const int64_t rows = 1 + static_cast<int64_t>(below(static_cast<size_t>(dim.size)));
  Attributes attributes{{"dim", dim}};
  Dims dims = without(type.dims, {dim});
  if (rows > 1 || chance(0.5)) {
    const Dim from = dim_of_size(rows, type.dims);
    attributes.set("from", from);
    dims.push_back(from);
  }
  const Fill fill = type.dtype == DType::kBool               ? Fill::kBool
                    : is_float(type.dtype) && !tensor->exact ? Fill::kNormal
                                                             : Fill::kSteps;
  const Facts piece = leaf_or_sum({type.dtype, shuffled(dims)}, fill);
  // As many positions as there are, so that each one drawn is in range.
  const Dim places = dim_of_size(dim.size - rows + 1, {});
  const Facts at = leaf(chance(0.7) ? DType::kI32 : DType::kI64, {}, Fill::kIndex, places.name);
  add({.kind = "update_slice", .operands = {tensor->ref, piece.ref, at.ref}, .attributes = attributes},
      std::max(tensor->bound, piece.bound), std::min(tensor->low, piece.low), tensor->exact && piece.exact);
}

void IndexingDraft::cumsum() {
  const std::optional<Facts> x =
      pick([](const Facts& f) { return f.type.dtype != DType::kBool && !f.type.dims.empty(); });
  if (!x) return;
  const Dim dim = any(x->type.dims);
  Attributes attributes{{"dim", dim}};
  if (chance(0.5)) attributes.set("exclusive", chance(0.7));
  if (chance(0.5)) attributes.set("reverse", chance(0.7));
  const double bound = x->bound * static_cast<double>(dim.size);
  add({.kind = "cumsum", .operands = {x->ref}, .attributes = attributes}, bound, -bound, x->exact);
}

// Of numbers that rounding does not touch: which ones are the largest would hang on it.
void IndexingDraft::top_k() {
  std::optional<Facts> x =
      pick([](const Facts& f) { return f.exact && f.type.dtype != DType::kBool && !f.type.dims.empty(); });
  if (!x || chance(0.4)) x = leaf(float_, random_dims(1, 3), Fill::kNormal);
  const Dim dim = any(x->type.dims);
  const int64_t k = 1 + static_cast<int64_t>(below(static_cast<size_t>(dim.size)));
  const Attributes attributes{{"dim", dim}, {"to", dim_of_size(k, without(x->type.dims, {dim}))}};
  const std::optional<Facts> values =
      add({.kind = "top_k", .operands = {x->ref}, .attributes = attributes}, x->bound, x->low, x->exact);
  if (!values) return;
  Facts& found = known_.back();
  found.bound = static_cast<double>(dim.size);
  found.low = 0;
  found.exact = true;
  if (chance(0.3))
    add({.kind = "gather", .operands = {x->ref, TensorRef{found.ref}}, .attributes = {{"dim", dim}}},
        x->bound, x->low, x->exact);
}

void IndexingDraft::dropout() {
  const std::vector<double> rates{0, 0.1, 0.5, 0.75};
  const double rate = any(rates);
  if (const std::optional<Facts> x = pick_float())
    add({.kind = "dropout", .operands = {x->ref}, .attributes = {{"rate", rate}}}, x->bound / (1 - rate),
        -x->bound / (1 - rate), false);
}

void IndexingDraft::normalize() {
  const std::optional<Facts> x =
      pick([](const Facts& f) { return is_float(f.type.dtype) && !f.type.dims.empty() && f.bound < 100; });
  if (!x) return;
  const Dims over = some_of(x->type.dims, 1);
  const double wide = 2 * x->bound + 8;
  switch (below(6)) {
    case 0:
    case 1:
      add({.kind = "softmax", .operands = {x->ref}, .attributes = {{"over", over}}}, 1, 0, false);
      return;
    case 2:
      add({.kind = "log_softmax", .operands = {x->ref}, .attributes = {{"over", over}}}, wide, -wide, false);
      return;
    case 3:
      add({.kind = "logsumexp", .operands = {x->ref}, .attributes = {{"over", over}}}, wide, -wide, false);
      return;
    case 4:
      return cross_entropy(*x);
    default:
      return norm(*x, over);
  }
}

// Where elements hardly differ, these multiply rounding by hundreds.
void IndexingDraft::norm(const Facts& x, const Dims& over) {
  if (x.type.dtype != DType::kF64 || x.bound > 10) return;
  const double bound = std::sqrt(static_cast<double>(elements(x.type.dims)));
  add({.kind = chance(0.5) ? "layer_norm" : "rms_norm", .operands = {x.ref}, .attributes = {{"over", over}}},
      bound, -bound, false);
}

void IndexingDraft::cross_entropy(const Facts& logits) {
  const Dim classes = any(logits.type.dims);
  const Dims rest = without(logits.type.dims, {classes});
  const Facts labels = chance(0.6) ? leaf(DType::kI32, some_of(rest, 0), Fill::kIndex, classes.name)
                                   : leaf(logits.type.dtype, shuffled(logits.type.dims), Fill::kPositive);
  const double bound = 2 * static_cast<double>(classes.size) * (2 * logits.bound + 8);
  add({.kind = "softmax_cross_entropy",
       .operands = {logits.ref, labels.ref},
       .attributes = {{"over", Dims{classes}}}},
      bound, -bound, false);
}

void IndexingDraft::rare_reduction() {
  const bool product = chance(0.5);
  const std::optional<Facts> x = pick([&](const Facts& f) {
    return !f.type.dims.empty() &&
           (product ? f.bound <= 2 && f.type.dtype != DType::kBool : f.type.dtype == DType::kBool);
  });
  if (!x) return;
  const Dims over = some_of(x->type.dims, 1);
  const double count = static_cast<double>(elements(over));
  if (product && count > 12) return;
  const double bound = product ? std::pow(std::max(1.0, x->bound), count) : 1;
  const char* kind = product ? "reduce_prod" : chance(0.5) ? "reduce_any" : "reduce_all";
  add({.kind = kind, .operands = {x->ref}, .attributes = {{"over", over}}}, bound, product ? -bound : 0,
      x->exact);
}

}  // namespace mtfc
