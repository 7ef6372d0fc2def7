#include "formats/import/config_writer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "core/diagnostics/error.h"
#include "formats/json/json_text.h"
#include "formats/json/json_value.h"

namespace mtfc {
namespace {

constexpr const char* kFamilyKey = "model_type";

bool is_same(double a, double b) {
  return std::abs(a - b) <= 1e-12 * std::max(std::abs(a), std::abs(b));
}

std::string number_text(double value) {
  return value == std::floor(value) && std::abs(value) < 1e15 ? fmt::format("{}", static_cast<int64_t>(value))
                                                              : fmt::format("{}", value);
}

JsonValue* member_of(JsonValue& object, std::string_view key) {
  const auto found = std::find_if(object.members.begin(), object.members.end(),
                                  [&](const JsonMember& member) { return member.key == key; });
  return found == object.members.end() ? nullptr : &found->value;
}

void set_member(JsonValue& object, const std::string& key, JsonValue value) {
  if (JsonValue* const member = member_of(object, key))
    *member = std::move(value);
  else
    object.members.push_back({key, {}, std::move(value)});
}

// The rules of a family, and the keys that several families share.
struct FamilyRules {
  std::string name;
  JsonValue family, common;

  const JsonValue& import() const { return *family.find("import"); }
  const JsonValue& keys() const { return *import().find("keys"); }
  // The objects of keys, of which the first that knows a key counts.
  std::vector<const JsonValue*> lists() const {
    std::vector<const JsonValue*> all = {&keys()};
    if (const JsonValue* const groups = import().find("groups"))
      for (const JsonValue& group : groups->items) all.push_back(common.find(group.text));
    return all;
  }
  // Whether a key is true or false, where a param is 1 or 0.
  bool is_flag(const std::string& key) const {
    const std::vector<JsonValue>& flags = common.find("flags")->items;
    return std::any_of(flags.begin(), flags.end(), [&](const JsonValue& flag) { return flag.text == key; });
  }
};

// The param or dimension that a rule gives a number; "" if it gives none.
std::string target_name(const JsonValue& rule) {
  if (rule.kind == JsonKind::kString) return rule.text;
  const JsonValue* const number = rule.kind == JsonKind::kObject ? rule.find("number") : nullptr;
  return number ? number->text : "";
}

class ConfigEditor {
 public:
  ConfigEditor(const FamilyRules& rules, const ModelValues& values, const ModelValues& plain)
      : rules_(rules), values_(values), plain_(plain) {}

  // Changes the keys of `object` whose values have changed, in the objects in it, too.
  void change(JsonValue& object, const std::vector<const JsonValue*>& lists) {
    for (const JsonValue* const list : lists)
      for (const JsonMember& rule : list->members)
        if (JsonValue* const value = member_of(object, rule.key)) change_member(rule, *value);
  }

  // Adds keys for the other values that have changed, and for those that every config.json states.
  void add(JsonValue& object) {
    for (const JsonValue* const list : rules_.lists())
      for (const JsonMember& rule : list->members) {
        const std::string name = target_name(rule.value);
        if (!done_.contains(name) && has_changed(name)) add_member(object, rule.key, name);
      }
    for (const JsonMember& rule : rules_.keys().members)
      if (!member_of(object, rule.key)) choose(rule, nullptr, object);
  }

  void add_member(JsonValue& object, const std::string& key, const std::string& name) {
    set_member(object, key, value_for(key, values_.at(name), false));
    done_.insert(name);
  }

  bool has_changed(const std::string& name) const {
    const auto value = values_.find(name), plain = plain_.find(name);
    return value != values_.end() && plain != plain_.end() && !is_same(value->second, plain->second);
  }

 private:
  JsonValue value_for(const std::string& key, double value, bool was_flag) const {
    if (was_flag || rules_.is_flag(key)) return json_flag(value != 0);
    return json_number(number_text(value));
  }

  void change_member(const JsonMember& rule, JsonValue& value) {
    const std::string name = target_name(rule.value);
    const bool is_number = value.kind == JsonKind::kNumber || value.kind == JsonKind::kBool;
    if (!name.empty() && (is_number || rule.value.kind == JsonKind::kString)) {
      if (has_changed(name)) value = value_for(rule.key, values_.at(name), value.kind == JsonKind::kBool);
      done_.insert(name);
      return;
    }
    if (rule.value.kind != JsonKind::kObject) return;
    if (const JsonValue* const keys = rule.value.find("object"); keys && value.kind == JsonKind::kObject)
      return change(value, {keys});
    if (const JsonValue* const list = rule.value.find("list"); list && value.kind == JsonKind::kArray)
      return change_list(*list, value);
    choose(rule, &value, value);
  }

  // Lists have an item for each layer, of which every p-th is another one, or all are alike.
  void change_list(const JsonValue& list, JsonValue& value) {
    const JsonValue *const last = list.find("last"), *const name = list.find("period");
    const auto layers = values_.find("layers"), before = plain_.find("layers");
    if (!last || layers == values_.end() || before == plain_.end()) return;
    if (!has_changed("layers") && !(name && has_changed(name->text))) return;
    if (value.items.size() != static_cast<size_t>(before->second)) return;
    const auto period = static_cast<size_t>(name ? values_.at(name->text) : 1);
    value.items.clear();
    for (size_t i = 1; i <= static_cast<size_t>(layers->second); ++i)
      value.items.push_back(
          json_string(i % period == 0 ? last->text : list.find("others")->items.front().text));
    if (name) done_.insert(name->text);
  }

  // A rule with several values: the first of them whose settings are those of the model, if those of `value` have
  // changed. Without a value, the key is added to `object`.
  void choose(const JsonMember& rule, JsonValue* value, JsonValue& object) {
    if (rule.value.kind != JsonKind::kObject || rule.value.find("object") || rule.value.find("list") ||
        rule.value.find("same_as"))
      return;
    bool changed = false;
    const JsonMember* fitting = nullptr;
    for (const JsonMember& choice : rule.value.members) {
      if (choice.value.kind != JsonKind::kObject) continue;
      bool fits = true;
      for (const JsonMember& setting : choice.value.members) {
        changed = changed || has_changed(setting.key);
        const auto now = values_.find(setting.key);
        fits = fits && now != values_.end() && setting.value.kind == JsonKind::kNumber &&
               is_same(now->second, setting.value.number());
      }
      if (fits && !choice.value.members.empty() && !fitting) fitting = &choice;
    }
    if (!changed || !fitting) return;
    const std::string& key = fitting->key;
    JsonValue chosen = key == "true" || key == "false" ? json_flag(key == "true")
                       : key == "null"                 ? JsonValue{}
                                                       : json_string(key);
    if (value)
      *value = std::move(chosen);
    else
      set_member(object, rule.key, std::move(chosen));
  }

  const FamilyRules& rules_;
  const ModelValues &values_, &plain_;
  std::set<std::string> done_;  // names whose values the text states
};

struct ConfigOrigin {
  std::string family;
  JsonValue config;  // the config.json from which the model was imported, or one with nothing but the family
};

ConfigOrigin origin_of(std::string_view text, const std::string& file, const FamilyFiles& families) {
  const JsonValue model = parse_json(text, file);
  const JsonValue* const import = model.find("import");
  const JsonValue* config = imported_config(model);
  const JsonValue* family = config ? config->find(kFamilyKey) : import ? model.find("name") : nullptr;
  if (!family ||
      std::find(families.names.begin(), families.names.end(), family->text) == families.names.end())
    throw UserError(
        fmt::format("'{}' is of no known family of published models, so it has no config.json", file),
        "mtfc import writes models that are; checkpoints keep all others");
  if (config) return {family->text, *config};
  JsonValue plain;
  plain.kind = JsonKind::kObject;
  set_member(plain, kFamilyKey, *family);
  return {family->text, std::move(plain)};
}

FamilyRules rules_of(const std::string& name, const FamilyFiles& families) {
  return {name, parse_json(families.text(name), name), parse_json(families.text("keys"), "keys")};
}

// Throws UserError if the model that config.json describes has another value of a param or dimension.
void require_stated(const FamilyRules& rules, const ConfigSource& model, const ModelValues& described) {
  std::set<std::string> names = model.sizes;
  for (const JsonValue* const list : rules.lists())
    for (const JsonMember& rule : list->members) names.insert(target_name(rule.value));
  for (const std::string& name : names) {
    const auto value = model.values.find(name), other = described.find(name);
    if (value == model.values.end() || other == described.end() || is_same(value->second, other->second))
      continue;
    throw UserError(fmt::format("'{}' is {}, which the config.json of models of the family '{}' can't state "
                                "beside the others: they would have {}",
                                name, number_text(value->second), rules.name, number_text(other->second)),
                    "checkpoints keep such a model");
  }
}

}  // namespace

const JsonValue* imported_config(const JsonValue& model) {
  const JsonValue* const import = model.find("import");
  return import && import->kind == JsonKind::kObject ? import->find("config") : nullptr;
}

std::string stated_dtype(std::string_view text, const std::string& file) {
  const JsonValue model = parse_json(text, file);
  const JsonValue* const config = imported_config(model);
  for (const char* key : {"dtype", "torch_dtype"})
    if (const JsonValue* const stated = config ? config->find(key) : nullptr;
        stated && stated->kind == JsonKind::kString)
      return stated->text;
  return "";
}

std::string family_of(std::string_view text, const std::string& file, const FamilyFiles& families) {
  return origin_of(text, file, families).family;
}

std::string config_of(const ConfigSource& model, const std::string& dtype, const FamilyFiles& families) {
  ConfigOrigin origin = origin_of(model.text, model.file, families);
  JsonValue& config = origin.config;
  const FamilyRules rules = rules_of(origin.family, families);
  const auto imported = [&] {
    return model.evaluate(import_model(json_text(config), "config.json", families));
  };
  if (const JsonValue* const needs = rules.import().find("needs"))
    for (const JsonValue& key : needs->items) {
      const JsonValue* const rule = rules.keys().find(key.text);
      const auto value = model.values.find(rule ? target_name(*rule) : "");
      if (!member_of(config, key.text) && value != model.values.end())
        set_member(config, key.text, json_number(number_text(value->second)));
    }
  const ModelValues plain = imported();
  ConfigEditor editor(rules, model.values, plain);
  editor.change(config, rules.lists());
  editor.add(config);
  // Weights are exported in a type of their own.
  std::erase_if(config.members, [](const JsonMember& member) { return member.key == "quantization_config"; });
  set_member(config, member_of(config, "dtype") ? "dtype" : "torch_dtype", json_string(dtype));
  require_stated(rules, model, imported());
  return json_text(config, 2) + "\n";
}

}  // namespace mtfc
