#pragma once
// Warnings of tensors that are gathered whole, for a good part of a step's communication (core/explain/costly_gathers.h).

#include <string>
#include <vector>

#include "core/diagnostics/error.h"
#include "core/model/model.h"
#include "core/passes/pipeline.h"
#include "core/program/program.h"
#include "core/tensors/layout.h"

namespace mtfc {

/// A program and what it was compiled from.
struct CompiledModel {
  const Model& model;
  const Layout& layout;
  const CompileOptions& options;
  const Program& program;
};

/// A warning for each such tensor, with the change of the layout that avoids it. `entry`: the entry point to look at; if it
/// is "", the training step, or else the evaluation. Compiles the model for some dozen other layouts if there is such a
/// tensor.
std::vector<Diagnostic> gather_warnings(const CompiledModel& compiled, const std::string& entry);

}  // namespace mtfc
