#include "core/graph/op_def.h"

#include <algorithm>
#include <numeric>

namespace mtfc {

OpError::OpError(const std::string& message, std::string advice, int to_blame, std::string attribute_to_blame)
    : Error(message), hint(std::move(advice)), operand(to_blame), attribute(std::move(attribute_to_blame)) {}

OpError::~OpError() = default;

std::vector<std::vector<int>> linear_sets(const OpDef& op, size_t operands) {
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

}  // namespace mtfc
