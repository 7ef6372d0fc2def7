#include "core/tensors/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/diagnostics/printable.h"
#include "core/diagnostics/suggest.h"
#include "core/tensors/name_pattern.h"

namespace mtfc {

const RingRule* find_ring(const Layout& layout, std::string_view name) {
  const RingRule* found = nullptr;
  for (const RingRule& rule : layout.rings) {
    if (rule.pattern == name) return &rule;
    if (matches_name(rule.pattern, name)) found = &rule;
  }
  return found;
}

const Rule* find_rule(const Layout& layout, std::string_view dim) {
  for (const Rule& rule : layout.rules)
    if (rule.dim == dim) return &rule;
  return nullptr;
}

bool names_dim(const Layout& layout, std::string_view dim) {
  return find_rule(layout, dim) ||
         std::any_of(layout.limited_rules.begin(), layout.limited_rules.end(),
                     [&](const LimitedRule& limited) { return limited.rule.dim == dim; });
}

Sharding sharding_by_rules(const Layout& layout, const Dims& dims) {
  Sharding sharding = replicated(dims.size());
  for (size_t i = 0; i < dims.size(); ++i)
    if (const Rule* rule = find_rule(layout, dims[i].name)) sharding.dims[i] = rule->axes;
  return sharding;
}

Sharding legal_sharding_by_rules(const Layout& layout, const Dims& dims) {
  Sharding sharding = sharding_by_rules(layout, dims);
  std::set<int> used;
  for (AxisList& axes : sharding.dims)
    std::erase_if(axes, [&](int axis) { return layout.mesh.size(axis) == 1 || !used.insert(axis).second; });
  return sharding;
}

void split_between(const Layout& layout, const Dims& dims, const AxisList& taken, Sharding& sharding) {
  for (const Rule& rule : layout.between) {
    const int at = position(dims, rule.dim);
    if (at < 0) continue;
    const AxisList used = split_axes(sharding);
    AxisList axes = sharding.dims[static_cast<size_t>(at)];
    for (const int axis : rule.axes)
      if (layout.mesh.size(axis) > 1 && !contains(taken, axis) && !contains(used, axis)) axes.push_back(axis);
    if (layout.mesh.size(axes) <= dims[static_cast<size_t>(at)].size)
      sharding.dims[static_cast<size_t>(at)] = std::move(axes);
  }
}

bool has_rule(const Layout& layout, const Dims& dims) {
  return std::any_of(dims.begin(), dims.end(),
                     [&](const Dim& dim) { return find_rule(layout, dim.name) != nullptr; });
}

bool has_plain_rules_only(const Layout& layout) {
  return layout.limited_rules.empty() && layout.annotations.empty() && !layout.propagate &&
         !layout.state.is_stated() && layout.rings.empty() && layout.between.empty();
}

std::string to_string(const Rule& rule, const Mesh& mesh) {
  return fmt::format("{}:{}", rule.dim, mesh.names(rule.axes));
}

std::string to_string(const LimitedRule& rule, const Mesh& mesh) {
  return fmt::format("{} in {}", to_string(rule.rule, mesh), printable(rule.pattern));
}

void check_rules(const Layout& layout, const Dims& declared) {
  std::vector<std::string> names;
  for (const Dim& dim : declared) names.push_back(dim.name);
  std::vector<Diagnostic> diagnostics;
  for (const std::vector<Rule>* rules : {&layout.rules, &layout.between})
    for (const Rule& rule : *rules)
      if (!contains(declared, rule.dim))
        diagnostics.push_back({rule.location, fmt::format("the model has no dimension '{}'", rule.dim),
                               did_you_mean(rule.dim, names)});
  if (!diagnostics.empty()) throw UserError(diagnostics);
}

namespace {

// The stage of ZeRO that the layout is, in the forms that `--layout batch:all,zero:3` stands for; 0 for none of them.
int zero_stage(const Layout& layout) {
  const StateSharding& state = layout.state;
  if (state.axes.empty()) return 0;
  if (state.variables)
    return state.gradients && state.regather.size() == 1 && state.regather[0].text == "**" ? 3 : 0;
  if (!state.regather.empty()) return 0;
  return state.gradients ? 2 : 1;
}

}  // namespace

std::string to_string(const Layout& layout) {
  std::string text;
  for (const Rule& rule : layout.rules) text += (text.empty() ? "" : ",") + to_string(rule, layout.mesh);
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  for (const LimitedRule& rule : layout.limited_rules) add(to_string(rule, layout.mesh));
  for (const Rule& rule : layout.between) add(to_string(rule, layout.mesh) + " between parts");
  const int stage = zero_stage(layout);
  if (const size_t count = layout.annotations.size(); count > 0)
    add(fmt::format("{} annotation{}", count, count == 1 ? "" : "s"));
  const StateSharding& state = layout.state;
  if (stage > 0)
    add(fmt::format("ZeRO {} over {}", stage, layout.mesh.names(state.axes)));
  else if (!state.axes.empty())
    add(fmt::format("state{}{} over {}", state.variables ? " and variables" : "",
                    state.gradients ? "" : " without gradients", layout.mesh.names(state.axes)));
  if (stage == 0 && !state.regather.empty()) add("regathered");
  if (const size_t count = layout.rings.size(); count > 0)
    add(fmt::format("{} rule{} for rings", count, count == 1 ? "" : "s"));
  if (layout.propagate) add("propagated");
  return text;
}

std::string described(const Layout& layout) {
  const std::string text = to_string(layout);
  return text.empty() ? "no rules" : text;
}

}  // namespace mtfc
