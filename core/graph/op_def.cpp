#include "core/graph/op_def.h"

#include <algorithm>
#include <numeric>

#include "core/tensors/alignment.h"

namespace mtfc {

OpError::OpError(const std::string& message, std::string advice, int to_blame, std::string attribute_to_blame)
    : Error(message), hint(std::move(advice)), operand(to_blame), attribute(std::move(attribute_to_blame)) {}

OpError::~OpError() = default;

KernelWorkspace kernel_workspace(const OpDef& op, const LocalCall& call, std::span<const LocalType> results) {
  KernelWorkspace workspace;
  std::vector<LocalType> operands(call.operands.begin(), call.operands.end()),
      made(results.begin(), results.end());
  for (std::vector<LocalType>* types : {&operands, &made})
    for (LocalType& type : *types) type.dtype = in_kernel(op, type.dtype);
  if (op.workspace) workspace.own = op.workspace({call.attributes, operands}, made);
  workspace.bytes = workspace.own;
  const auto place = [&](std::span<const LocalType> given, const std::vector<LocalType>& computed,
                         std::vector<int64_t>& offsets) {
    for (size_t i = 0; i < given.size(); ++i) {
      offsets.push_back(-1);
      if (given[i].dtype == computed[i].dtype) continue;
      offsets.back() = aligned(workspace.bytes);
      workspace.bytes = offsets.back() + bytes(computed[i]);
    }
  };
  place(call.operands, operands, workspace.operands);
  place(results, made, workspace.results);
  return workspace;
}

namespace {

// True if a conversion gives terms of the same sum, but for rounding where it is allowed.
bool keeps_sums(const OpCall& call) {
  const DType from = call.operands[0].dtype, to = call.attributes.get<DType>("dtype");
  if (!is_float(from) || !is_float(to)) return false;
  return size_of(to) >= size_of(from) || call.attributes.get_or(kRoundsTerms, false);
}

}  // namespace

std::vector<std::vector<int>> linear_sets(const OpDef& op, const OpCall& call) {
  if (op.traits.converts && !keeps_sums(call)) return {};
  const size_t operands = call.operands.size();
  std::vector<int> all(operands);
  std::iota(all.begin(), all.end(), 0);
  std::vector<std::vector<int>> sets;
  for (const std::vector<int>& set : op.linear_in)
    if (set[0] == kEveryOperand)
      sets.push_back(all);
    else if (set[0] == kEachOperand)
      for (const int operand : all) sets.push_back({operand});
    else if (std::all_of(set.begin(), set.end(),
                         [&](int operand) { return operand < static_cast<int>(operands); }))
      sets.push_back(set);
  return sets;
}

void split_operands(const Factor& factor, const AxisList& axes, std::vector<Sharding>& operands) {
  for (size_t i = 0; i < factor.operands.size(); ++i)
    if (factor.operands[i] >= 0) operands[i].dims[static_cast<size_t>(factor.operands[i])] = axes;
  if (axes.empty()) return;
  for (const OperandWindow& window : factor.windows) {
    Sharding& operand = operands[static_cast<size_t>(window.operand)];
    operand.dims[window.split.dim] = axes;
    const auto behind = std::find_if(operand.windows.begin(), operand.windows.end(),
                                     [&](const WindowSplit& split) { return split.dim > window.split.dim; });
    operand.windows.insert(behind, window.split);
  }
}

bool splits_twice(const std::vector<Factor>& factors, const std::vector<AxisList>& axes_by_factor) {
  std::vector<std::pair<int, size_t>> split;
  for (size_t f = 0; f < factors.size(); ++f)
    if (!axes_by_factor[f].empty())
      for (const OperandWindow& window : factors[f].windows)
        split.emplace_back(window.operand, window.split.dim);
  std::sort(split.begin(), split.end());
  return std::adjacent_find(split.begin(), split.end()) != split.end();
}

}  // namespace mtfc
