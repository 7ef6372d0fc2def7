#pragma once
// JSON Schemas (2020-12) of the files that people write, for editors and checkers. What operations and
// optimizers take comes from the registries, so the schema knows what this mtfc knows.
//
// A schema sees one value at a time: it knows keys, types, kinds and their attributes, counts of operands.
// Names of tensors and dimensions, and shapes, only `mtfc check` knows.

#include <string>

namespace mtfc {

/// Of models, and of the files that they include.
std::string model_schema();
std::string layout_schema();
std::string hardware_schema();

}  // namespace mtfc
