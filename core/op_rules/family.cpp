#include "core/op_rules/family.h"

#include <utility>

#include "core/op_rules/example.h"

namespace mtfc {
namespace {

std::vector<TensorType> infer_unchanged(const OpCall& call) {
  return {call.operands[0]};
}

}  // namespace

OpDef family_member(Family family, FamilyMember member) {
  return {
      .signature =
          {
              .name = member.name,
              .doc = member.doc,
              .min_operands = member.min_operands,
              .max_operands = member.max_operands,
              .attributes = std::move(member.attributes),
              .own_dtypes = std::move(member.own_dtypes),
              .infer = member.infer,
              .examples = std::move(member.examples),
              .worked = std::move(member.worked),
          },
      .family = family,
      .roles = member.roles,
      .linear_in = std::move(member.linear_in),
      .gradient = member.gradient,
      .flops = member.flops,
      .workspace = member.workspace,
      .split_rule = member.split_rule,
      .traits = member.traits,
  };
}

OpDef relabelling(FamilyMember member) {
  member.roles = no_factors;
  member.linear_in = {{0}};
  return family_member(Family::kRelabel, std::move(member));
}

OpDef unchanged(std::string_view name, std::string_view doc, GradientRule gradient) {
  return relabelling({
      .name = name,
      .doc = doc,
      .infer = infer_unchanged,
      .examples = {{.operands = {normal("batch=5 hidden=7")}, .attributes = {}},
                   {.operands = {normal("", DType::kF32)}, .attributes = {}},
                   {.operands = {flags("batch=5")}, .attributes = {}}},
      .gradient = gradient,
      .traits = {.copies = Copies::kOperand},
  });
}

OpDef movement(FamilyMember member) {
  member.linear_in = {{kEveryOperand}};
  return family_member(Family::kMovement, std::move(member));
}

OpDef indexing(FamilyMember member) {
  return family_member(Family::kIndexing, std::move(member));
}

OpDef generator(FamilyMember member) {
  member.min_operands = member.max_operands = 0;
  return family_member(Family::kGenerator, std::move(member));
}

}  // namespace mtfc
