#include "formats/layout/layout_checks.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/diagnostics/suggest.h"
#include "formats/expression/expression.h"
#include "formats/json/cursor.h"

namespace mtfc {

void MeshChecker::add(const std::string& name, int64_t size, const Location& name_at,
                      const Location& size_at) {
  if (!is_expression_name(name))
    return sink_.error(name_at, fmt::format("'{}' can't name an axis", name),
                       "names are letters, digits and '_', and start with a letter or '_'");
  if (find_named(axes_, name)) return sink_.error(name_at, fmt::format("the mesh has two axes '{}'", name));
  if (size < 1)
    return sink_.error(size_at,
                       fmt::format("axis '{}' must have a size of at least 1, found {}", name, size));
  axes_.push_back({name, size});
  const bool too_large = __builtin_mul_overflow(devices_, size, &devices_) || devices_ > kMostDevices;
  if (!too_large) return;
  sink_.error(size_at, fmt::format("the mesh has too many devices: at most {} are possible", kMostDevices));
  devices_ = 1;  // reported once
}

Mesh with_device_order(const Mesh& mesh, const Cursor& at) {
  if (!at.is(JsonKind::kArray)) {
    at.expected("a list of ranks");
    return mesh;
  }
  const std::vector<Cursor> items = at.items("a list of ranks");
  const auto devices = mesh.devices();
  if (static_cast<int64_t>(items.size()) != devices) {
    at.error(fmt::format(
        "the device order names {} rank{}, but {}", items.size(), items.size() == 1 ? "" : "s",
        mesh.axes().empty()
            ? "there is one device"
            : fmt::format("the mesh {} has {} device{}", to_string(mesh), devices, devices == 1 ? "" : "s")));
    return mesh;
  }
  std::vector<int64_t> order;
  std::vector<bool> named(items.size());
  for (const Cursor& item : items) {
    const std::optional<int64_t> rank = item.integer();
    if (!rank) continue;
    if (*rank < 0 || *rank >= devices)
      item.error(fmt::format("there is no rank {}: ranks are 0 to {}", *rank, devices - 1));
    else if (named[static_cast<size_t>(*rank)])
      item.error(fmt::format("rank {} appears twice in the device order", *rank));
    else
      order.push_back(*rank);
    if (*rank >= 0 && *rank < devices) named[static_cast<size_t>(*rank)] = true;
  }
  return order.size() == items.size() ? Mesh(mesh.axes(), std::move(order)) : mesh;
}

void RuleChecker::add(const std::string& dim, const Location& at, const std::vector<LocatedName>& axes) {
  for (const Rule& rule : rules_)
    if (rule.dim == dim)
      return sink_.error(at, fmt::format("dimension '{}' has two rules", dim),
                         "one rule may name several axes");
  rules_.push_back(checked(dim, at, axes));
}

void RuleChecker::add_limited(const std::string& dim, const std::string& pattern, const Location& at,
                              const std::vector<LocatedName>& axes) {
  for (const LimitedRule& other : limited_rules_)
    if (other.rule.dim == dim && other.pattern == pattern)
      return sink_.error(at, fmt::format("dimension '{}' has two rules in '{}'", dim, pattern),
                         "one rule may name several axes");
  limited_rules_.push_back({checked(dim, at, axes), pattern});
}

Rule RuleChecker::checked(const std::string& dim, const Location& at,
                          const std::vector<LocatedName>& axes) const {
  Rule rule{dim, {}, at};
  const std::vector<std::string> known = all_names(mesh_.axes());
  for (const LocatedName& name : axes) {
    const int axis = mesh_.find(name.name);
    if (axis < 0) {
      std::string hint = did_you_mean(name.name, known);
      if (hint.empty() && mesh_.find(dim) >= 0)
        hint = fmt::format("'{0}' is an axis, and the dimension comes first: {1}:{0}", dim, name.name);
      if (hint.empty())
        hint = known.empty() ? "there is no mesh: give one with --mesh, or in the layout file"
                             : fmt::format("the mesh is {}", to_string(mesh_));
      sink_.error(name.location, fmt::format("unknown axis '{}'", name.name), hint);
    } else if (std::find(rule.axes.begin(), rule.axes.end(), axis) != rule.axes.end()) {
      sink_.error(name.location, fmt::format("axis '{}' appears twice in the rule of '{}'", name.name, dim));
    } else {
      rule.axes.push_back(axis);
    }
  }
  return rule;
}

void RuleChecker::check_one_tensor() const {
  for (size_t i = 0; i < rules_.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      for (const int axis : rules_[i].axes)
        if (contains(rules_[j].axes, axis))
          sink_.error(rules_[i].location,
                      fmt::format("the axis '{}' splits both '{}' and '{}' of one tensor",
                                  mesh_.axes()[static_cast<size_t>(axis)].name, rules_[j].dim, rules_[i].dim),
                      "an axis can split one dimension of a tensor");
}

std::vector<LocatedName> axis_names(const Cursor& at) {
  std::vector<LocatedName> axes;
  if (at.is(JsonKind::kString)) {
    axes.push_back({at.value().text, at.location()});
  } else if (at.is(JsonKind::kArray)) {
    for (const Cursor& item : at.items())
      if (const auto name = item.string("the name of an axis")) axes.push_back({*name, item.location()});
  } else {
    at.expected("an axis or a list of axes");
  }
  return axes;
}

namespace {

// An object names rules, too, but a dimension may have several, and their order would be that of keys.
void refuse_object(const Cursor& at) {
  std::string rules;
  for (const JsonMember& member : at.value().members)
    if (member.value.kind == JsonKind::kString)
      rules += fmt::format("{}[\"{}\", \"{}\"]", rules.empty() ? "" : ", ", member.key, member.value.text);
  at.error("expected a list of rules, found an object",
           fmt::format("write \"rules\": [{}]", rules.empty() ? "[DIMENSION, AXIS], ..." : rules));
}

}  // namespace

void read_rules(const Cursor& at, Layout& layout) {
  if (at.is(JsonKind::kObject)) return refuse_object(at);
  RuleChecker checker(layout.mesh, at.sink());
  for (const Cursor& rule : at.items("a list of rules")) {
    const size_t parts = rule.is(JsonKind::kArray) ? rule.value().items.size() : 0;
    if (parts != 2 && parts != 3) {
      rule.error(
          "expected a rule, [dimension, axis] or [dimension, [axis, axis, ...]]",
          parts > 3 ? "a third element, {\"in\": PATTERN}, limits the rule to a part of the model" : "");
      continue;
    }
    const auto dim = rule.item(0).string("the name of a dimension");
    const Cursor target = rule.item(1);
    const std::vector<LocatedName> axes = axis_names(target);
    if (target.is(JsonKind::kArray) && target.value().items.empty()) target.error("the rule names no axis");
    if (parts == 2) {
      if (dim) checker.add(*dim, rule.location(), axes);
      continue;
    }
    const Cursor limit = rule.item(2);
    if (!limit.is(JsonKind::kObject)) {
      limit.expected("{\"in\": PATTERN}");
    } else if (limit.check_keys({"in"})) {
      const auto in = limit.require("in");
      const auto pattern = in ? in->string("a tensor or a pattern of names") : std::nullopt;
      if (dim && pattern) checker.add_limited(*dim, *pattern, rule.location(), axes);
    }
  }
  layout.limited_rules = checker.limited_rules();
  layout.rules = std::move(checker).rules();
}

std::vector<Rule> read_between(const Cursor& at, const Mesh& mesh) {
  Layout read;
  read.mesh = mesh;
  read_rules(at, read);
  for (const LimitedRule& limited : read.limited_rules)
    at.sink().error(limited.rule.location, "a rule between parts counts in all of the model",
                    "leave out {\"in\": PATTERN}");
  return read.rules;
}

StateSharding read_state_sharding(const Cursor& root, const Mesh& mesh) {
  StateSharding state;
  if (const auto axes = root.find("shard_state_over")) {
    RuleChecker checker(mesh, root.sink());
    if (axes->is(JsonKind::kArray) && axes->value().items.empty())
      axes->error("the list names no axis", "leave out \"shard_state_over\"");
    checker.add("shard_state_over", axes->location(), axis_names(*axes));
    state.location = axes->location();
    for (const Rule& rule : std::move(checker).rules()) state.axes = rule.axes;
  }
  if (const auto gradients = root.find("shard_gradients")) {
    state.gradients = gradients->flag().value_or(true);
    if (!state.gradients && !root.find("shard_state_over"))
      gradients->error("gradients are sharded only together with the state of the optimizer",
                       "leave it out, or add \"shard_state_over\": the axes for the state");
  }
  if (const auto variables = root.find("shard_variables")) {
    state.variables = variables->flag().value_or(false);
    if (state.variables && !root.find("shard_state_over"))
      variables->error("variables can be sharded only together with the state of the optimizer",
                       "add \"shard_state_over\": the axes for both");
  }
  const auto add = [&](const Cursor& at) {
    if (const auto pattern = at.string("a variable or a pattern of names"))
      state.regather.push_back({*pattern, at.location()});
  };
  if (const auto patterns = root.find("regather")) {
    if (patterns->is(JsonKind::kArray))
      for (const Cursor& item : patterns->items()) add(item);
    else
      add(*patterns);
  }
  return state;
}

std::vector<RingRule> read_rings(const Cursor& root) {
  std::vector<RingRule> rings;
  if (const auto patterns = root.find("ring"))
    for (const NamedCursor& entry : patterns->members("an object {product: true or false}"))
      if (const auto turns = entry.value.flag()) rings.push_back({entry.key, *turns, entry.key_location});
  return rings;
}

std::vector<Annotation> read_annotations(const Cursor& at, const Mesh& mesh) {
  std::vector<Annotation> annotations;
  for (const NamedCursor& entry : at.members("an object {tensor: sharding}")) {
    RuleChecker checker(mesh, at.sink());
    for (const NamedCursor& split : entry.value.members("a sharding, {dimension: axis or list of axes}")) {
      if (split.value.is(JsonKind::kArray) && split.value.value().items.empty())
        split.value.error("the list names no axis", "leave out a dimension that is not split");
      checker.add(split.key, split.key_location, axis_names(split.value));
    }
    checker.check_one_tensor();
    annotations.push_back({entry.key, std::move(checker).rules(), entry.key_location});
  }
  return annotations;
}

}  // namespace mtfc
