#pragma once
// A model file into core/model/model.h: names resolved, sizes computed, types inferred, every mistake located.
//
//   text -> JSON with places -> included files -> params and dims, blocks -> inputs, variables -> operations
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

/// What the command line says in place of the file.
struct ModelOverrides {
  std::optional<std::string>
      optimizer;     // its kind; of the settings only lr stays where it is another than the file's
  bool f64 = false;  // everything that is f32 becomes f64
  std::optional<int64_t> microbatches = {};
};

/// Reads a model of format version 1. `file` is for messages, `sets` are NAME=VALUE overrides of params and
/// dims, `include_source` gives the files that the model includes. Throws one UserError with all that is
/// wrong; appends warnings to `warnings`.
Model read_model(std::string_view text, const std::string& file, const std::vector<std::string>& sets,
                 std::vector<Diagnostic>& warnings, const IncludeSource& include_source = {},
                 const ModelOverrides& overrides = {});

}  // namespace mtfc
