#pragma once
// Turns a model file into core/model/model.h: resolves names, computes sizes, infers types and locates every
// mistake.
//
//   text -> located JSON -> included files -> params and dims, blocks -> inputs, variables -> operations
//        -> train, outputs -> Model -> Model in the precision that is asked for

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/diagnostics/error.h"
#include "core/model/model.h"
#include "formats/model/include_reader.h"

namespace mtfc {

struct CompileOptions;

/// Settings of the command line that take the place of the file's.
struct ModelOverrides {
  /// If the kind differs from the file's, only `lr` is kept of the file's settings.
  std::optional<std::string> optimizer = {};
  /// f64: every float becomes f64. bf16: mixed precision, as the file's "precision" details it. f32: none.
  std::optional<DType> dtype = {};
  std::optional<int64_t> microbatches = {};
};

/// Everything that a model depends on beside its own text and `sets`.
struct ModelContext {
  IncludeSource include_source = {};  // gives the files that the model includes
  ModelOverrides overrides = {};
  // NAME=VALUE as `sets`, which count more; names that the model lacks are passed over
  std::vector<std::string> defaults = {};
  // They watch the passes that bring the model into its form; nullptr: as by default
  const CompileOptions* compile_options = nullptr;
};

/// Reads a model of format version 1. `file` is for messages, `sets` are NAME=VALUE overrides of params and dims.
/// Throws one UserError with all that is wrong; appends warnings to `warnings`.
Model read_model(std::string_view text, const std::string& file, const std::vector<std::string>& sets,
                 std::vector<Diagnostic>& warnings, const ModelContext& context = {});

}  // namespace mtfc
