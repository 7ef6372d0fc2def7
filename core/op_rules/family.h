#pragma once
// Operations of a family: an operation states what the family leaves open, and a function of the family makes the
// definition. Families with rules of their own have the function beside these: elementwise.h, reduction.h,
// random_rules.h, windows.h and attention.h.

#include <string_view>
#include <vector>

#include "core/graph/op_def.h"
#include "core/op_rules/operation_rules.h"

namespace mtfc {

/// One operation of a family: what the family leaves open, and otherwise what most operations have. The fields are
/// those of Signature and of OpDef.
struct FamilyMember {
  std::string_view name, doc;
  int min_operands = 1, max_operands = 1;
  std::vector<AttributeSpec> attributes = {};
  std::vector<OwnDType> own_dtypes = {};
  std::vector<TensorType> (*infer)(const OpCall&) = nullptr;
  std::vector<Example> examples = {};
  std::vector<WorkedExample> worked = {};
  std::vector<Factor> (*roles)(const OpCall&, std::span<const TensorType> results) = pass_factors;
  std::vector<std::vector<int>> linear_in = {};
  GradientRule gradient = kNoGradient;
  int64_t (*flops)(const LocalCall&, std::span<const LocalType> results) = no_flops;
  int64_t (*workspace)(const LocalCall&, std::span<const LocalType> results) = kNoWorkspace;
  std::vector<TensorId> (*split_rule)(GraphBuilder&, const Node&, int64_t parts) = kNoSplitRule;
  OpTraits traits = {};
};
/// The definition with exactly these fields.
OpDef family_member(Family family, FamilyMember member);

/// The same elements in the same row-major order under other dimensions.
OpDef relabelling(FamilyMember member);
/// The operand of any type, unchanged.
OpDef unchanged(std::string_view name, std::string_view doc, GradientRule gradient);
/// Elements move, and are linear in all operands together.
OpDef movement(FamilyMember member);
OpDef indexing(FamilyMember member);
/// Without operands.
OpDef generator(FamilyMember member);

}  // namespace mtfc
