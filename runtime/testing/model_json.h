#pragma once
// For tests: a random case as the model and layout files that give the same program, for a bug report or for
// `mtfc verify`.

#include <string>

#include "runtime/testing/model_recipe.h"

namespace mtfc {

/// The text of a model file.
std::string model_file(const RandomCase& random_case);
/// The text of a layout file.
std::string layout_file(const RandomCase& random_case);

/// Writes both to `folder`, as case_SEED.json and case_SEED_layout.json, and says how to try them.
std::string saved_case(const RandomCase& random_case, const std::string& folder);

}  // namespace mtfc
