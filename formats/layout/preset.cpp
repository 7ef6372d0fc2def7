#include "formats/layout/preset.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/diagnostics/suggest.h"
#include "formats/layout/layout_checks.h"

namespace mtfc {
namespace {

void check_axes(const Mesh& mesh, const std::set<std::string>& known, const Cursor& preset) {
  for (const Axis& axis : mesh.axes()) {
    if (known.contains(axis.name)) continue;
    const std::vector<std::string> names(known.begin(), known.end());
    const std::string near = did_you_mean(axis.name, names);
    preset.sink().error({"--mesh", 0, 0, ""},
                        fmt::format("the preset has no rule for the axis '{}'", axis.name),
                        near.empty() ? fmt::format("it knows {}", fmt::join(names, ", ")) : near);
  }
}

}  // namespace

void add_preset(const Cursor& preset, bool with_between, Layout& layout, LayoutExtras& extras) {
  std::set<std::string> known;
  const auto rule_of = [&](const Cursor& rule) {
    Rule own{rule.item(0).value().text, {}, rule.location()};
    for (const LocatedName& name : axis_names(rule.item(1))) {
      known.insert(name.name);
      if (const int axis = layout.mesh.find(name.name); axis >= 0) own.axes.push_back(axis);
    }
    return own;
  };
  for (const Cursor& rule : preset.require("rules")->items()) {
    Rule own = rule_of(rule);
    if (own.axes.empty() || find_rule(layout, own.dim)) continue;
    extras.preset_dims.push_back(own.dim);
    if (rule.value().items.size() < 3)
      layout.rules.push_back(std::move(own));
    else
      layout.limited_rules.push_back({std::move(own), rule.item(2).find("in")->value().text});
  }
  const auto between = preset.find("between");
  const bool is_replaced = !with_between || !layout.between.empty();
  for (const Cursor& rule : between ? between->items() : std::vector<Cursor>()) {
    Rule own = rule_of(rule);
    if (own.axes.empty() || is_replaced) continue;
    extras.preset_dims.push_back(own.dim);
    layout.between.push_back(std::move(own));
  }
  check_axes(layout.mesh, known, preset);
  if (const auto zero = preset.find("zero"); zero && !extras.zero)
    extras.zero = ZeroStage{static_cast<int>(zero->integer().value_or(0)), zero->location(), {}};
}

void remove_unknown(const LayoutExtras& extras, const Dims& known, Layout& layout) {
  const auto is_unknown = [&](const Rule& rule) {
    return !contains(known, rule.dim) && std::find(extras.preset_dims.begin(), extras.preset_dims.end(),
                                                   rule.dim) != extras.preset_dims.end();
  };
  std::erase_if(layout.rules, is_unknown);
  std::erase_if(layout.between, is_unknown);
  std::erase_if(layout.limited_rules, [&](const LimitedRule& limited) { return is_unknown(limited.rule); });
}

}  // namespace mtfc
