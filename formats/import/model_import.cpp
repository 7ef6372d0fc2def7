#include "formats/import/model_import.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "core/diagnostics/error.h"
#include "core/diagnostics/suggest.h"
#include "formats/import/config_rules.h"
#include "formats/import/text_edits.h"
#include "formats/json/json_text.h"

namespace mtfc {
namespace {

constexpr const char* kCommonKeys = "keys";

std::string family_file(const std::string& name) {
  return fmt::format("models/families/{}.json", name);
}

// Throws what the sink has gathered.
void finish(DiagnosticSink& sink) {
  std::vector<Diagnostic> ignored;
  sink.finish(ignored);
}

std::string family_name(const Cursor& config, std::vector<std::string> known) {
  std::erase(known, kCommonKeys);
  const auto type = config.require("model_type");
  const std::optional<std::string> name =
      type ? type->string("the name of a family of models") : std::nullopt;
  if (name && std::find(known.begin(), known.end(), *name) == known.end()) {
    const std::string near = did_you_mean(*name, known);
    type->error(fmt::format("models of the family '{}' are not known", *name),
                near.empty() ? fmt::format("known are {}", fmt::join(known, ", ")) : near);
  }
  finish(config.sink());
  return *name;
}

// The model of the family with these settings, which holds the config.json in the place of the family's rules for it. A
// setting that the family itself does not have is one of a param of the library that it includes.
std::string with_settings(std::string_view text, const JsonValue& model, const ImportedSettings& settings,
                          const JsonValue& config) {
  TextEdits edits(text);
  std::string more;
  for (const auto& [name, json] : settings) {
    const JsonValue* value = model.find("params")->find(name);
    if (!value) value = model.find("dims")->find(name);
    if (value)
      edits.replace(*value, json);
    else
      more += fmt::format(", \"{}\": {}", name, json);
  }
  edits.append(*model.find("params"), more);
  for (size_t i = 0; i + 1 < model.members.size(); ++i)
    if (model.members[i].key == "import")
      edits.replace_before(model.members[i], model.members[i + 1],
                           fmt::format("\"import\": {{\"config\": {}}},\n  ", json_text(config)));
  return edits.apply();
}

}  // namespace

bool is_config(std::string_view text) {
  const std::optional<JsonValue> json = find_json(text);
  if (!json || json->kind != JsonKind::kObject || json->find("mtfc") || json->find("ops")) return false;
  return json->find("model_type") || json->find("architectures") || json->find("transformers_version");
}

std::string import_model(std::string_view config, const std::string& file, const FamilyFiles& families) {
  const JsonValue json = parse_json(config, file);
  DiagnosticSink sink;
  const Cursor root(json, file, sink);
  const std::string name = family_name(root, families.names);
  const std::string text = families.text(name), common_text = families.text(kCommonKeys);
  const std::string family = family_file(name), common = family_file(kCommonKeys);
  const JsonValue model = parse_json(text, family), common_json = parse_json(common_text, common);
  const Cursor rules(model, family, sink);
  const ImportedSettings settings = read_config(root, rules, Cursor(common_json, common, sink));
  finish(sink);
  return with_settings(text, model, settings, json);
}

}  // namespace mtfc
