#include "formats/tokenizer/metaspace.h"

#include <fmt/format.h>

#include "formats/tokenizer/component_keys.h"

namespace mtfc {

std::optional<Metaspace> read_metaspace(const Cursor& json) {
  json.check_keys({"type", "replacement", "str_rep", "add_prefix_space", "prepend_scheme", "split"});
  Metaspace settings;
  settings.replacement = character_of(json, "replacement");
  optional_string_of(json, "str_rep");  // the replacement once more, in older files
  settings.splits = flag_of(json, "split", true);
  if (const auto scheme = json.find("prepend_scheme"); !is_absent(scheme)) {
    const auto name = scheme->string();
    const auto value = name ? value_named<PrependScheme>(*name) : std::nullopt;
    if (name && !value)
      scheme->error(fmt::format("'{}' is not known", *name), keys_hint(*name, enum_names<PrependScheme>()));
    settings.scheme = value.value_or(settings.scheme);
  }
  if (!flag_of(json, "add_prefix_space", true)) {
    const bool contradicts =
        !is_absent(json.find("prepend_scheme")) && settings.scheme != PrependScheme::kNever;
    if (contradicts)
      json.find("add_prefix_space")->error("it contradicts prepend_scheme, which is not 'never'");
    settings.scheme = PrependScheme::kNever;
  }
  if (json.sink().failed()) return std::nullopt;
  return settings;
}

}  // namespace mtfc
