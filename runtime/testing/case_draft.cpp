#include "runtime/testing/case_draft.h"

#include <fmt/format.h>

namespace mtfc {

CaseDraft::CaseDraft(uint64_t seed) : random_(seed) {
  case_.seed = seed;
  draw_sizes();
  float_ = chance(0.75) ? DType::kF64 : chance(0.5) ? DType::kF32 : DType::kBF16;
}

void CaseDraft::draw_sizes() {
  const std::vector<int64_t> likely{1, 2, 3, 3, 4, 5, 5, 6, 7, 7, 8, 9};
  const size_t count = 3 + below(3);
  for (size_t i = 0; i < count; ++i) case_.sizes[std::string(1, static_cast<char>('a' + i))] = any(likely);
}

Dims CaseDraft::all_dims() const {
  Dims dims;
  for (const auto& [name, size] : case_.sizes) dims.push_back({name, size});
  return dims;
}

Dims CaseDraft::shuffled(Dims dims) {
  std::shuffle(dims.begin(), dims.end(), random_);
  return dims;
}

Dims CaseDraft::random_dims(size_t least, size_t most) {
  Dims dims = shuffled(all_dims());
  dims.resize(std::min(dims.size(), least + below(most - least + 1)));
  while (elements(dims) > kMostElements) dims.pop_back();
  return dims;
}

Dims CaseDraft::some_of(const Dims& dims, size_t least) {
  Dims chosen = shuffled(dims);
  chosen.resize(least + below(dims.size() - least + 1));
  return chosen;
}

Dim CaseDraft::dim_of_size(int64_t size, const Dims& dims) {
  Dims fitting;
  for (const Dim& dim : all_dims())
    if (dim.size == size && !contains(dims, dim.name)) fitting.push_back(dim);
  if (!fitting.empty() && chance(0.6)) return any(fitting);
  for (int i = 0;; ++i) {
    const std::string name = fmt::format("{}{}_{}", static_cast<char>('r' + i % 4), size, i / 4);
    if (contains(dims, name) || (case_.sizes.count(name) > 0 && chance(0.3))) continue;
    case_.sizes[name] = size;
    return {name, size};
  }
}

Dims CaseDraft::factored(int64_t count) {
  Dims dims;
  for (int64_t rest = count; rest > 1;) {
    std::vector<int64_t> divisors;
    for (int64_t d = 2; d <= rest; ++d)
      if (rest % d == 0) divisors.push_back(d);
    const int64_t size = any(divisors);
    dims.push_back(dim_of_size(size, dims));
    rest /= size;
  }
  if (dims.empty() || chance(0.1)) {
    const Dim one = dim_of_size(1, dims);
    dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(below(dims.size() + 1)), one);
  }
  return dims;
}

std::optional<Facts> CaseDraft::pick_number() {
  return pick([](const Facts& f) { return f.type.dtype != DType::kBool; });
}
std::optional<Facts> CaseDraft::pick_float() {
  return pick([](const Facts& f) { return is_float(f.type.dtype); });
}
std::optional<Facts> CaseDraft::pick_exact() {
  return pick([](const Facts& f) { return f.exact && f.type.dtype != DType::kBool; });
}

std::optional<Facts> CaseDraft::add(Item item, double bound, double low, bool exact) {
  const size_t position = case_.items.size();
  try {
    tensors_.push_back(add_item(builder_, item, position, case_.sizes, tensors_));
  } catch (const OpError&) {
    return std::nullopt;
  }
  if (!is_leaf(item)) ++operations_;
  // The numbers that a random operation draws depend on its name, so it must keep the name.
  item.from_model = is_leaf(item) || item.kind.starts_with("random") || chance(0.8);
  case_.items.push_back(std::move(item));
  std::optional<Facts> first;
  for (size_t i = 0; i < tensors_.back().size(); ++i) {
    const TensorType& type = builder_.type(tensors_.back()[i]);
    if (elements(type.dims) > kMostElements) bound = 2 * kLargest;  // not used further
    known_.push_back({{position, i}, type, bound, low, exact && bound < 1e6});
    if (i == 0) first = known_.back();
  }
  return first;
}

Facts CaseDraft::leaf(DType dtype, const Dims& dims, Fill fill, const std::string& indexed) {
  Item item{.kind = "input", .type = {dtype, dims}, .fill = fill, .indexed = indexed};
  // A float variable may get a new value of any sign that is no integer.
  if (fill == Fill::kNormal && chance(0.4)) item.kind = "variable";
  if (fill == Fill::kSteps && !is_float(dtype) && chance(0.3)) item.kind = "variable";
  switch (fill) {
    case Fill::kNormal:
      return *add(std::move(item), 4, -4, false);
    case Fill::kPositive:
      return *add(std::move(item), 2, 0.5, false);
    case Fill::kSteps:
      return *add(std::move(item), 2, -2, true);
    case Fill::kIndex:
      return *add(std::move(item), 9, 0, true);
    case Fill::kBool:
      break;
  }
  return *add(std::move(item), 1, 0, true);
}

Facts CaseDraft::sum_leaf(const TensorType& type, Fill fill) {
  Dims extra = shuffled(without(all_dims(), type.dims));
  if (extra.empty()) return leaf(type.dtype, type.dims, fill);
  extra.resize(1);
  const Dims dims = unite(type.dims, extra);
  const double count = static_cast<double>(extra[0].size);
  const Facts whole = leaf(type.dtype, chance(0.3) ? shuffled(dims) : dims, fill);
  return *add({.kind = "reduce_sum", .operands = {whole.ref}, .attributes = {{"dims", type.dims}}},
              whole.bound * count, whole.low < 0 ? whole.low * count : whole.low, whole.exact);
}

Facts CaseDraft::leaf_or_sum(const TensorType& type, Fill fill) {
  const bool summable = fill == Fill::kNormal || fill == Fill::kPositive || fill == Fill::kSteps;
  return summable && chance(0.4) ? sum_leaf(type, fill) : leaf(type.dtype, type.dims, fill);
}

}  // namespace mtfc
