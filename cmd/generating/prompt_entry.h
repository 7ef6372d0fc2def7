#pragma once
// The entry point that reads a prompt at once, beside a program that decodes.

#include <optional>

#include "core/compile/pipeline.h"
#include "core/model/model.h"
#include "core/program/program.h"

namespace mtfc {

/// Returns whether both programs have the same weights at the same offsets.
bool share_weights(const Program& a, const Program& b);

/// The entry point `prompt` of a model that prompt_positions() accepts, for as many positions as the model has. Nothing
/// if the layout does not allow it, or if the program's decode keeps its weights and caches in another way. `options`:
/// those that the program was compiled with.
std::optional<EntryPoint> compiled_prompt(Model model, const CompileOptions& options, const Program& program);

}  // namespace mtfc
