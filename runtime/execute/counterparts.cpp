#include "runtime/execute/counterparts.h"

#include <map>
#include <optional>
#include <string>
#include <utility>

namespace mtfc {
namespace {

// Visits a step, and before it the members of a fused step.
template <typename Visit>
void visit_all(const Step& step, Visit visit) {
  for (const Step& member : step.members()) visit(member);
  visit(step);
}

// For each value, the loops in which it is made, and in which part of them: names are unique in a part. An alias
// is made where it is first read.
PerValue<std::string> scopes_of(const EntryPoint& entry) {
  PerValue<std::optional<std::string>> found(entry.values.size());
  std::vector<std::string> scopes = {""};
  const auto set = [&](ValueId id) {
    if (!found[id]) found[id] = scopes.back();
  };
  const PerValue<bool> leaves = leaves_of(entry);
  for (const ValueId id : leaves.ids())
    if (leaves[id]) set(id);
  const auto visit = [&](const Step& step) {
    for (const ValueId id : step.inputs)
      if (entry.values[id].alias_of != kNoValue) set(id);
    for (const ValueId id : step.outputs) set(id);
  };
  for (const Step& step : entry.steps) {
    if (step.kind() == StepKind::kRepeat) scopes.pop_back();
    for (const Step& member : step.members()) visit(member);
    visit(step);
    if (step.kind() == StepKind::kLoop) scopes.push_back(scopes.back() + step.name + "/");
    if (step.kind() == StepKind::kLeave) scopes.back() += "body/";
  }
  PerValue<std::string> named(entry.values.size());
  for (const ValueId id : named.ids()) named[id] = found[id].value_or("");
  return named;
}

}  // namespace

PerValue<bool> leaves_of(const EntryPoint& entry) {
  PerValue<bool> written(entry.values.size(), false), leaf(entry.values.size(), false);
  for (const Step& step : entry.steps) {
    visit_all(step, [&](const Step& each) {
      for (const ValueId id : each.inputs)
        if (const ValueId root = root_of(entry, id); !written[root]) leaf[root] = true;
      if (each.kind() == StepKind::kStart) return;
      for (const ValueId id : each.outputs) written[root_of(entry, id)] = true;
    });
  }
  for (const ValueId id : leaf.ids()) {
    if (!written[id]) leaf[id] = true;
    if (entry.values[id].alias_of != kNoValue) leaf[id] = false;
  }
  return leaf;
}

PerValue<std::vector<ValueId>> aliases_of(const EntryPoint& entry) {
  PerValue<std::vector<ValueId>> aliases(entry.values.size());
  for (const ValueId id : aliases.ids())
    if (const ValueId root = root_of(entry, id); root != id) aliases[root].push_back(id);
  return aliases;
}

Counterparts::Counterparts(const EntryPoint& whole, const EntryPoint& other)
    : own_(whole.values.size()), forms_(whole.values.size()) {
  using Name = std::pair<std::string, std::string>;
  const PerValue<std::string> scopes = scopes_of(other), whole_scopes = scopes_of(whole);
  std::map<Name, std::vector<ValueId>> by_name, by_tensor;
  for (const ValueId id : scopes.ids()) {
    const std::string& name = other.values[id].name;
    by_name[{scopes[id], name}].push_back(id);
    by_tensor[{scopes[id], tensor_name(name)}].push_back(id);
  }
  PerValue<bool> taken(other.values.size(), false);
  const auto fits = [&](ValueId id, ValueId counterpart) {
    return !taken[counterpart] && other.values[counterpart].type == whole.values[id].type;
  };
  for (const ValueId id : own_.ids())
    for (const ValueId same : by_name[{whole_scopes[id], whole.values[id].name}])
      if (own_[id] == kNoValue && fits(id, same)) taken[own_[id] = same] = true;
  for (const ValueId id : own_.ids()) {
    const std::string& name = whole.values[id].name;
    if (name != tensor_name(name)) continue;
    for (const ValueId form : by_tensor[{whole_scopes[id], name}]) {
      if (!fits(id, form)) continue;
      taken[form] = true;
      forms_[id].push_back(form);
    }
  }
}

}  // namespace mtfc
