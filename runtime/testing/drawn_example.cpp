#include <fmt/format.h>

#include "core/graph/op_registry.h"
#include "runtime/testing/drawn_operations.h"

namespace mtfc {
namespace {

Dim of_example(CaseDraft& draft, const Dim& dim) {
  const std::string name = fmt::format("{}{}", dim.name, dim.size);
  const auto at = draft.drawn().sizes.emplace(name, dim.size).first;
  return {name, at->second};
}

Dims of_example(CaseDraft& draft, Dims dims) {
  for (Dim& dim : dims) dim = of_example(draft, dim);
  return dims;
}

AttributeValue of_example(CaseDraft& draft, AttributeValue value, std::string& indexed) {
  if (Dim* dim = std::get_if<Dim>(&value)) indexed = (*dim = of_example(draft, *dim)).name;
  if (Dims* dims = std::get_if<Dims>(&value))
    if (*dims = of_example(draft, *dims); indexed.empty() && !dims->empty()) indexed = dims->front().name;
  if (auto* map = std::get_if<std::vector<Renaming>>(&value))
    for (Renaming& entry : *map) {
      const std::string from = entry.from;
      entry.to = of_example(draft, entry.to);
      entry.from = fmt::format("{}{}", from, entry.to.size);
    }
  if (std::holds_alternative<Windows>(value))
    for_each_dim(value, [&](Dim& dim) { dim = of_example(draft, dim); });
  return value;
}

// A dimension of as many elements as there are indices: where it can be the indexed one.
std::string counted(CaseDraft& draft, const std::string& indexed, int64_t limit) {
  const auto at = draft.drawn().sizes.find(indexed);
  return at != draft.drawn().sizes.end() && at->second == limit ? indexed : draft.dim_of_size(limit, {}).name;
}

}  // namespace

void draw_example(CaseDraft& draft) {
  const Signature& signature = *find_signature(draft.any(operation_names()));
  const Example& drawn = draft.any(signature.examples);
  std::string indexed;
  Item item{.kind = std::string(signature.name)};
  for (const auto& [name, value] : drawn.attributes.entries())
    item.attributes.set(name, of_example(draft, value, indexed));
  bool exact = true;
  for (const ExampleOperand& operand : drawn.operands) {
    const TensorType type{operand.type.dtype, of_example(draft, operand.type.dims)};
    const bool index = operand.fill == Fill::kIndex;
    // A sum that rounding takes to the other side of a multiple has another remainder.
    const bool jumps = signature.name == "mod";
    const Facts facts =
        index   ? draft.leaf(type.dtype, type.dims, operand.fill, counted(draft, indexed, operand.limit))
        : jumps ? draft.leaf(type.dtype, type.dims, operand.fill)
                : draft.leaf_or_sum(type, operand.fill);
    exact &= facts.exact;
    item.operands.push_back(facts.ref);
  }
  const std::optional<Facts> result = draft.add(std::move(item), 100, -100, false);
  if (result && !is_float(result->type.dtype)) draft.newest().exact = exact;
}

}  // namespace mtfc
