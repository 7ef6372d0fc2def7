#include "formats/import/config_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "core/diagnostics/suggest.h"
#include "formats/json/ordered_json.h"

namespace mtfc {
namespace {

// A value as a key of the rules spells it.
std::string spelled(const JsonValue& value) {
  switch (value.kind) {
    case JsonKind::kNull:
      return "null";
    case JsonKind::kBool:
      return value.flag ? "true" : "false";
    case JsonKind::kNumber:
    case JsonKind::kString:
      return value.text;
    case JsonKind::kArray:
      return "list";
    case JsonKind::kObject:
      return "object";
  }
  return "";
}

// Names the values that a key of a rule with several values allows.
std::string kind_name(const std::string& key) {
  if (key == "object") return "an object";
  if (key == "list") return "a list";
  if (key == "count") return "an object";
  return key == "number" ? "a number" : key;
}

class ConfigReader {
 public:
  ConfigReader(const std::string& family, const JsonValue& dims) : family_(family), dims_(dims) {}

  // `rules`: objects of rules by key, of which the first that knows a key counts.
  void read(const Cursor& config, const std::vector<Cursor>& rules) {
    const Cursor* const outer = config_;
    config_ = &config;
    for (const NamedCursor& member : config.members("an object, as a config.json is")) {
      const auto knows = std::find_if(rules.begin(), rules.end(),
                                      [&](const Cursor& list) { return list.find(member.key).has_value(); });
      if (knows == rules.end())
        unknown_key(member, rules);
      else
        apply(*knows->find(member.key), member);
    }
    config_ = outer;
  }

  ImportedSettings settings() const {
    ImportedSettings all = settings_;
    all.insert(chosen_.begin(), chosen_.end());
    return all;
  }

 private:
  void unknown_key(const NamedCursor& member, const std::vector<Cursor>& rules) {
    std::vector<std::string> known;
    for (const Cursor& list : rules)
      for (const NamedCursor& rule : list.members()) known.push_back(rule.key);
    std::string hint = did_you_mean(member.key, known);
    if (hint.empty()) hint = "remove it if it makes no difference to the model";
    member.value.sink().error(
        member.key_location,
        fmt::format("'{}' is not known for models of the family '{}'", member.key, family_), hint);
  }

  void apply(const Cursor& rule, const NamedCursor& member) {
    if (rule.is(JsonKind::kNull)) return;
    if (rule.is(JsonKind::kString)) return set_number(rule.value().text, member);
    if (const auto list = rule.find("list"); list && member.value.is(JsonKind::kArray)) {
      const auto numbers = list->find("numbers");
      return numbers ? set_list(numbers->value().text, member) : set_period(*list, member);
    }
    if (const auto count = rule.find("count"); count && member.value.is(JsonKind::kObject)) {
      settings_[count->value().text] = fmt::format("{}", member.value.members().size());
      return;
    }
    if (const auto keys = rule.find("object"); keys && member.value.is(JsonKind::kObject))
      return read(member.value, {*keys});
    if (const auto other = rule.find("same_as")) return require_same(other->value().text, member);
    choose(rule, member);
  }

  void require_same(const std::string& other, const NamedCursor& member) {
    const auto found = config_->find(other);
    const std::string wanted = found ? spelled(found->value()) : "null",
                      value = spelled(member.value.value());
    if (value != wanted)
      member.value.error(
          fmt::format("'{}' is {}, but '{}' is {}", member.key, value, other, wanted),
          fmt::format("models of the family '{}' are supported where they are equal", family_));
  }

  void set_number(const std::string& name, const NamedCursor& member) {
    const JsonValue& value = member.value.value();
    if (dims_.find(name) && value.kind == JsonKind::kNumber && value.integer().value_or(0) < 1)
      return member.value.error(
          fmt::format("'{}' must be a positive whole number, but is {}", member.key, value.text));
    if (value.kind == JsonKind::kNumber)
      settings_[name] = value.text;
    else if (value.kind == JsonKind::kBool)
      settings_[name] = value.flag ? "1" : "0";
    else if (value.kind != JsonKind::kNull)
      member.value.expected("a number, true or false");
  }

  void set_list(const std::string& name, const NamedCursor& member) {
    std::string numbers;
    for (const Cursor& item : member.value.items()) {
      if (!item.is(JsonKind::kNumber)) return item.expected("a number");
      numbers += (numbers.empty() ? "" : ", ") + item.value().text;
    }
    settings_[name] = "[" + numbers + "]";
  }

  void choose(const Cursor& rule, const NamedCursor& member) {
    const auto number = rule.find("number");
    if (number && member.value.is(JsonKind::kNumber)) return set_number(number->value().text, member);
    const std::string value = spelled(member.value.value());
    if (const auto chosen = rule.find(value)) {
      for (const NamedCursor& setting : chosen->members())
        chosen_[setting.key] = setting.value.is(JsonKind::kString) ? Json(setting.value.value().text).dump()
                                                                   : setting.value.value().text;
      return;
    }
    std::vector<std::string> known;
    for (const NamedCursor& each : rule.members()) known.push_back(kind_name(each.key));
    unsupported(member.value, known);
  }

  void unsupported(const Cursor& value, const std::vector<std::string>& known) {
    const std::string found = value.is(JsonKind::kObject) || value.is(JsonKind::kArray)
                                  ? to_string(value.kind())
                                  : fmt::format("'{}'", spelled(value.value()));
    value.error(fmt::format("{} is not supported for models of the family '{}'", found, family_),
                known.empty() ? "" : fmt::format("it may be {}", fmt::join(known, ", ")));
  }

  void set_period(const Cursor& list, const NamedCursor& member) {
    const std::string& last = list.find("last")->value().text;
    std::vector<std::string> others;
    for (const Cursor& other : list.find("others")->items()) others.push_back(other.value().text);
    const std::vector<Cursor> items = member.value.items();
    size_t period = items.size() + 1;
    for (size_t i = 0; i < items.size(); ++i) {
      const std::string item = spelled(items[i].value());
      const bool is_last = item == last;
      if (!is_last && std::find(others.begin(), others.end(), item) == others.end())
        return items[i].error(
            fmt::format("'{}' is not supported for models of the family '{}'", item, family_),
            fmt::format("it may be {}{}{}", last, others.empty() ? "" : ", ", fmt::join(others, ", ")));
      if (is_last && period > items.size()) period = i + 1;
      if (is_last != ((i + 1) % period == 0))
        return items[i].error(fmt::format("the list is not periodic: '{}' at place {} ends a period of {}",
                                          last, period - 1, period),
                              "models whose layers alternate in no fixed order must be written by hand");
    }
    if (const auto name = list.find("period")) settings_[name->value().text] = fmt::format("{}", period);
  }

  const std::string& family_;
  const JsonValue& dims_;           // of the family
  const Cursor* config_ = nullptr;  // the object that is being read
  ImportedSettings settings_;       // that the config.json states
  ImportedSettings chosen_;  // that follow from one of several values; those that are stated take precedence
};

}  // namespace

ImportedSettings read_config(const Cursor& config, const Cursor& family, const Cursor& groups) {
  const auto type = config.find("model_type");
  const std::string name = type ? spelled(type->value()) : "";
  const Cursor import = *family.require("import");
  std::vector<Cursor> rules = {*import.require("keys"), *groups.require("any")};
  if (const auto named = import.find("groups"))
    for (const Cursor& group : named->items()) rules.push_back(*groups.require(group.value().text));
  ConfigReader reader(name, family.require("dims")->value());
  reader.read(config, rules);
  if (const auto needs = import.find("needs"))
    for (const Cursor& needed : needs->items())
      if (config.is(JsonKind::kObject)) config.require(needed.value().text);
  return reader.settings();
}

}  // namespace mtfc
