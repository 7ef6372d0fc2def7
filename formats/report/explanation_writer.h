#pragma once
// Writes explanations of programs (core/explain/explanation.h) for the terminal and as JSON.

#include <string>
#include <vector>

#include "core/diagnostics/error.h"
#include "core/explain/costly_gathers.h"
#include "core/explain/reshard_explanation.h"
#include "core/explain/tensor_explanation.h"

namespace mtfc {

/// The program that is explained, and how it is shown.
struct ExplanationStyle {
  const ExplainedProgram& program;
  size_t width = 100;         // of the longest line of text
  size_t line_width = 10000;  // of the lines of a list, which stay whole for other programs
  int64_t device_memory = 0;  // beside which a warning shows bytes; 0: not known
};

/// A line with the mesh and the layout, which stands above every explanation.
std::string layout_text(const ExplanationStyle& style);

std::string explanation_text(const TensorExplanation& explanation, const ExplanationStyle& style);
std::string explanation_text(const ReshardExplanation& explanation, const ExplanationStyle& style);
/// One line for each reshard.
std::string reshards_text(const std::vector<ReshardStep>& reshards, const ExplanationStyle& style);

std::string explanation_json(const TensorExplanation& explanation, const ExplanationStyle& style);
std::string explanation_json(const ReshardExplanation& explanation, const ExplanationStyle& style);
/// The program's totals, and the reshards that send most.
std::string list_text(size_t most, const ExplanationStyle& style);
std::string list_json(size_t most, const ExplanationStyle& style);
/// The JSON Schema of all three outputs.
std::string explanation_schema();

/// A warning at the place of the operation that waits for the tensor, with the change that avoids it.
Diagnostic warning_of(const CostlyGather& gather, const ExplanationStyle& style);
/// A note on what every microbatch sends again, with what sends it once.
Diagnostic note_of(const RepeatedGathers& repeated, const ExplanationStyle& style);

/// What a user is to do in the layout: `add "w": {"io": "rows"} to "shardings"`.
std::string change_text(const LayoutChange& change, const Layout& layout);
/// `relu (gives 'y', model.json:12)`, or `the output 'loss'`.
std::string operation_text(const OperationPlace& operation, const ModelNames& names);

}  // namespace mtfc
