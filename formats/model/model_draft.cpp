#include "formats/model/model_draft.h"

#include <algorithm>

namespace mtfc {
namespace {

// Returns the leaf of `variable` in the innermost of the first `depth` loops.
TensorId leaf_within(ModelDraft& draft, TensorId variable, size_t depth) {
  if (depth == 0) return variable;
  ModelDraft::Loop& loop = draft.loops[depth - 1];
  const auto [leaf, is_new] = loop.leaves.emplace(variable, kNoTensor);
  if (!is_new) return leaf->second;
  const TensorId operand = leaf_within(draft, variable, depth - 1);
  // A carried tensor that begins as the variable differs from it from the second iteration on, so only
  // operands after the given ones are reused.
  const auto first = loop.operands.begin() + static_cast<std::ptrdiff_t>(loop.given);
  const auto at = std::find(first, loop.operands.end(), operand);
  const auto index = static_cast<size_t>(at - loop.operands.begin());
  if (at == loop.operands.end()) loop.operands.push_back(operand);
  GraphBuilder& inside = depth == draft.loops.size() ? draft.builder : draft.loops[depth].outside;
  return leaf->second = inside.add_input(leaf_name(index), loop.outside.type(operand));
}

}  // namespace

TensorId ModelDraft::tensor_of(const Symbol& symbol) {
  if (symbol.kind != SymbolKind::kVariable || symbol.tensor == kNoTensor) return symbol.tensor;
  return leaf_within(*this, symbol.tensor, loops.size());
}

}  // namespace mtfc
