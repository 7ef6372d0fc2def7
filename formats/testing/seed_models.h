#pragma once
// For tests: the models and layouts that mutants are made from. New operations, models and cases are included
// automatically.

#include <string>
#include <vector>

#include "core/compile/pipeline.h"
#include "formats/model/include_reader.h"

namespace mtfc {

/// The models of models/ and testdata/, right and wrong.
std::vector<std::string> bundled_models();
/// Returns the files that they include from models/std.
IncludeText bundled_include(const IncludeName& name);
/// Layout files of models/ and testdata/.
std::vector<std::string> seed_layouts();

/// Compiles every entry point that a model has, `decode` too.
CompileOptions with_decode();

/// One model per example in the registry: its inputs, one operation and, if possible, its gradient.
std::vector<std::string> example_models();

}  // namespace mtfc
