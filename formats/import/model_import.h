#pragma once
// A published model, described by its config.json, as a model of mtfc.
//
// Each family of models is a model file in models/families/, named by the `model_type` of its config.json, whose key
// "import" says what the keys of a config.json mean (config_rules.h). The model of a config.json is that file with
// other values of params and dims, so that it can be read and changed like any other.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace mtfc {

/// The files of models/families/.
struct FamilyFiles {
  std::vector<std::string> names;                       // without .json, in alphabetical order
  std::function<std::string(const std::string&)> text;  // of one of them
};

/// Returns whether a text is a config.json: an object with "model_type" or another key that only these have.
bool is_config(std::string_view text);

/// The text of the model that `config` describes, the text of `file`. Throws UserError with the places of all mistakes.
std::string import_model(std::string_view config, const std::string& file, const FamilyFiles& families);

}  // namespace mtfc
