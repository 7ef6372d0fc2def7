#pragma once
// JSON Schemas (2020-12) of the files that people write, for editors and checkers. Operations and optimizers
// come from the registries, so the schema always matches this mtfc.
//
// A schema sees one value at a time: it knows keys, types, kinds with their attributes, and counts of
// operands. Only `mtfc check` knows names of tensors and dimensions, and shapes.

#include <string>

namespace mtfc {

/// The schema of models, and of the files that they include.
std::string model_schema();
std::string layout_schema();
std::string hardware_schema();

}  // namespace mtfc
