#pragma once
// Turns a model file into core/model/model.h: resolves names, computes sizes, infers types and locates every
// mistake.
//
//   text -> located JSON -> included files -> params and dims, blocks -> inputs, variables -> operations
//        -> train, outputs -> Model

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/diagnostics/error.h"
#include "core/model/model.h"
#include "formats/model/include_reader.h"

namespace mtfc {

/// Settings from the command line that replace the file's.
struct ModelOverrides {
  std::optional<std::string> optimizer;  // its kind; if it differs from the file's, only `lr` is kept
  bool f64 = false;                      // turns every f32 into f64
  std::optional<int64_t> microbatches = {};
};

/// Reads a model of format version 1. `file` is used in messages, `sets` are NAME=VALUE overrides of params
/// and dims, `include_source` returns the files that the model includes. Throws one UserError with all
/// mistakes; appends warnings to `warnings`.
Model read_model(std::string_view text, const std::string& file, const std::vector<std::string>& sets,
                 std::vector<Diagnostic>& warnings, const IncludeSource& include_source = {},
                 const ModelOverrides& overrides = {});

}  // namespace mtfc
