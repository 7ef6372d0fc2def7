#pragma once
// Writes the config.json of a model that mtfc import has written, or of a family of models itself: the inverse of
// config_rules.h. Sizes and params that have been changed since change its keys.

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "formats/import/model_import.h"
#include "formats/json/json_value.h"

namespace mtfc {

/// Params and dimensions by name, as they are computed.
using ModelValues = std::map<std::string, double>;

/// A model and what is needed to write its config.json.
struct ConfigSource {
  std::string_view text;  // of the model file
  std::string file;
  ModelValues values;                                                       // with the settings of the user
  std::set<std::string> sizes;                                              // dimensions of the variables
  std::function<ModelValues(const std::string& model_text)> evaluate = {};  // without any settings
};

/// The config.json. `dtype`: that of the weights beside it, as "bfloat16". Throws UserError for a model of no known
/// family, and for a value that its config.json can't state.
std::string config_of(const ConfigSource& model, const std::string& dtype, const FamilyFiles& families);

/// The config.json that a model file holds which mtfc import has written; nullptr for another one.
const JsonValue* imported_config(const JsonValue& model);

/// The dtype that the config.json of a model states for its weights, as "bfloat16"; "" if it states none.
std::string stated_dtype(std::string_view text, const std::string& file);

/// The `model_type` of the family to which a model belongs. Throws UserError for other models.
std::string family_of(std::string_view text, const std::string& file, const FamilyFiles& families);

}  // namespace mtfc
