#pragma once
// For tests: the models and layouts that mutants are made from. New operations, models and cases come by
// themselves.

#include <string>
#include <vector>

#include "formats/model/include_reader.h"

namespace mtfc {

/// Those of models/ and testdata/, right and wrong.
std::vector<std::string> bundled_models();
/// What they include from models/std.
IncludeText bundled_include(const IncludeName& name);
/// Layout files of models/ and testdata/.
std::vector<std::string> seed_layouts();

/// The models of the registry: an example as inputs and one operation, and where it can be, its gradient.
std::vector<std::string> example_models();

}  // namespace mtfc
