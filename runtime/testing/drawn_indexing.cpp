#include <algorithm>

#include "runtime/testing/drawn_operations.h"

namespace mtfc {
namespace {

Facts indices(CaseDraft& draft, const Dims& dims, const std::string& indexed) {
  if (draft.chance(0.2)) {
    const Dim dim{indexed, draft.drawn().sizes.at(indexed)};
    const std::optional<Facts> range =
        draft.add({.kind = "range", .attributes = {{"dim", dim}, {"dtype", DType::kI32}}}, 9, 0, true);
    if (range) return *range;
  }
  return draft.leaf(draft.chance(0.7) ? DType::kI32 : DType::kI64, dims, Fill::kIndex, indexed);
}

Fill fill_of(const Facts& facts) {
  return is_float(facts.type.dtype) && !facts.exact ? Fill::kNormal : Fill::kSteps;
}

/// A gather or scatter_add that is being drawn, and what is known of its result.
struct Lookup {
  Item item;
  double bound, low;
  bool exact;
};

void draw_weights(CaseDraft& draft, DType dtype, const Facts& index, Lookup& lookup) {
  if (draft.chance(0.6)) return;
  const Fill fill = is_float(dtype) && !lookup.exact ? Fill::kNormal : Fill::kSteps;
  const Facts weights = draft.leaf_or_sum({dtype, draft.shuffled(index.type.dims)}, fill);
  lookup.item.operands.emplace_back(weights.ref);
  lookup.bound *= weights.bound;
  lookup.low = -lookup.bound;
  lookup.exact = lookup.exact && weights.exact;
}

}  // namespace

void draw_one_hot(CaseDraft& draft) {
  const Dim dim = draft.any(draft.all_dims());
  const Facts index = indices(draft, draft.random_dims(0, 2), dim.name);
  const std::vector<DType> dtypes{draft.float_type(), DType::kF32, DType::kI32, DType::kI64, DType::kBool};
  if (elements(unite(index.type.dims, {dim})) <= CaseDraft::kMostElements)
    draft.add({.kind = "one_hot",
               .operands = {index.ref},
               .attributes = {{"dim", dim}, {"dtype", draft.any(dtypes)}}},
              1, 0, true);
}

void draw_update_slice(CaseDraft& draft) {
  std::optional<Facts> tensor = draft.pick([](const Facts& f) { return !f.type.dims.empty(); });
  if (draft.chance(0.3))
    tensor = draft.sum_leaf({draft.float_type(), draft.random_dims(1, 2)}, Fill::kNormal);
  if (!tensor) return;
  const TensorType& type = tensor->type;
  const Dim dim = draft.any(type.dims);
  const int64_t rows = 1 + static_cast<int64_t>(draft.below(static_cast<size_t>(dim.size)));
  Attributes attributes{{"dim", dim}};
  Dims dims = without(type.dims, {dim});
  if (rows > 1 || draft.chance(0.5)) {
    const Dim from = draft.dim_of_size(rows, type.dims);
    attributes.set("from", from);
    dims.push_back(from);
  }
  const Fill fill = type.dtype == DType::kBool               ? Fill::kBool
                    : is_float(type.dtype) && !tensor->exact ? Fill::kNormal
                                                             : Fill::kSteps;
  const Facts piece = draft.leaf_or_sum({type.dtype, draft.shuffled(dims)}, fill);
  // As many positions as there are, so that each one drawn is in range.
  const Dim places = draft.dim_of_size(dim.size - rows + 1, {});
  const Facts at = draft.leaf(draft.chance(0.7) ? DType::kI32 : DType::kI64, {}, Fill::kIndex, places.name);
  draft.add({.kind = "update_slice", .operands = {tensor->ref, piece.ref, at.ref}, .attributes = attributes},
            std::max(tensor->bound, piece.bound), std::min(tensor->low, piece.low),
            tensor->exact && piece.exact);
}

void draw_cumsum(CaseDraft& draft) {
  const std::optional<Facts> x =
      draft.pick([](const Facts& f) { return f.type.dtype != DType::kBool && !f.type.dims.empty(); });
  if (!x) return;
  const Dim dim = draft.any(x->type.dims);
  Attributes attributes{{"dim", dim}};
  if (draft.chance(0.5)) attributes.set("exclusive", draft.chance(0.7));
  if (draft.chance(0.5)) attributes.set("reverse", draft.chance(0.7));
  const double bound = x->bound * static_cast<double>(dim.size);
  draft.add({.kind = "cumsum", .operands = {x->ref}, .attributes = attributes}, bound, -bound, x->exact);
}

// Rounding must not touch the numbers, for it would decide which ones are the largest.
void draw_top_k(CaseDraft& draft) {
  std::optional<Facts> x = draft.pick(
      [](const Facts& f) { return f.exact && f.type.dtype != DType::kBool && !f.type.dims.empty(); });
  if (!x || draft.chance(0.4)) x = draft.leaf(draft.float_type(), draft.random_dims(1, 3), Fill::kNormal);
  const Dim dim = draft.any(x->type.dims);
  const int64_t k = 1 + static_cast<int64_t>(draft.below(static_cast<size_t>(dim.size)));
  const Attributes attributes{{"dim", dim}, {"to", draft.dim_of_size(k, without(x->type.dims, {dim}))}};
  const std::optional<Facts> values = draft.add(
      {.kind = "top_k", .operands = {x->ref}, .attributes = attributes}, x->bound, x->low, x->exact);
  if (!values) return;
  Facts& found = draft.newest();
  found.bound = static_cast<double>(dim.size);
  found.low = 0;
  found.exact = true;
  if (draft.chance(0.3))
    draft.add({.kind = "gather", .operands = {x->ref, TensorRef{found.ref}}, .attributes = {{"dim", dim}}},
              x->bound, x->low, x->exact);
}

void draw_lookup(CaseDraft& draft) {
  const std::optional<Facts> table =
      draft.pick([](const Facts& f) { return f.type.dtype != DType::kBool && !f.type.dims.empty(); });
  if (!table) return;
  const Dim dim = draft.any(table->type.dims);
  const Facts index = indices(draft, draft.random_dims(0, 2), dim.name);
  if (elements(unite(table->type.dims, index.type.dims)) > CaseDraft::kMostElements) return;
  Lookup lookup{{.kind = "gather", .operands = {table->ref, index.ref}, .attributes = {{"dim", dim}}},
                table->bound,
                table->low,
                table->exact};
  draw_weights(draft, table->type.dtype, index, lookup);
  if (draft.chance(0.3)) {
    const Dims over = draft.some_of(index.type.dims, 0);
    lookup.item.attributes.set("over", over);
    lookup.bound *= static_cast<double>(elements(over));
    if (!over.empty()) lookup.low = -lookup.bound;
  }
  draft.add(lookup.item, lookup.bound, lookup.low, lookup.exact);
}

void draw_lookup_dot(CaseDraft& draft) {
  const std::optional<Facts> table =
      draft.pick([](const Facts& f) { return f.type.dtype != DType::kBool && !f.type.dims.empty(); });
  if (!table) return;
  const Dim dim = draft.any(table->type.dims);
  const Facts index = indices(draft, draft.random_dims(0, 2), dim.name);
  if (elements(unite(table->type.dims, index.type.dims)) > CaseDraft::kMostElements) return;
  const Dims slice = without(without(table->type.dims, {dim}), index.type.dims);
  const TensorType type{table->type.dtype, draft.shuffled(unite(slice, draft.some_of(index.type.dims, 0)))};
  const Facts with = draft.leaf_or_sum(type, fill_of(*table));
  const double bound = table->bound * with.bound * static_cast<double>(elements(slice));
  draft.add(
      {.kind = "gather_dot", .operands = {table->ref, index.ref, with.ref}, .attributes = {{"dim", dim}}},
      bound, -bound, table->exact && with.exact);
}

void draw_scatter(CaseDraft& draft) {
  const std::optional<Facts> updates = draft.pick_number();
  if (!updates) return;
  const Dims& dims = updates->type.dims;
  const Dim dim = draft.any(draft.all_dims());
  Dims own = draft.some_of(dims, 0);
  if (draft.chance(0.3)) own = unite(own, without(draft.random_dims(0, 1), {dim}));
  const Facts index = indices(draft, own, dim.name);
  if (elements(unite(unite(dims, index.type.dims), {dim})) > CaseDraft::kMostElements) return;
  Attributes attributes{{"dim", dim}};
  if (draft.chance(0.5)) {
    const Dims slice = without(dims, index.type.dims);
    attributes.set("dims", draft.shuffled(unite(unite({dim}, slice),
                                                draft.some_of(without(index.type.dims, {dim}), 0))));
  }
  Lookup lookup{{.kind = "scatter_add", .operands = {updates->ref, index.ref}, .attributes = attributes},
                updates->bound * static_cast<double>(elements(index.type.dims)),
                0,
                updates->exact};
  draw_weights(draft, updates->type.dtype, index, lookup);
  draft.add(lookup.item, lookup.bound, -lookup.bound, lookup.exact);
}

void draw_count_before(CaseDraft& draft) {
  const Dim dim = draft.any(draft.all_dims());
  const Facts index = indices(draft, draft.random_dims(1, 2), dim.name);
  const Dims over = draft.some_of(index.type.dims, 1);
  draft.add({.kind = "count_before",
             .operands = {index.ref},
             .attributes = {{"dim", dim}, {"over", draft.shuffled(over)}}},
            static_cast<double>(elements(over)), 0, true);
}

}  // namespace mtfc
