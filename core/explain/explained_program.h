#pragma once
// A program that is to be explained, with what it was compiled from.

#include <string>
#include <vector>

#include "core/compile/pipeline.h"
#include "core/explain/layout_trials.h"
#include "core/explain/model_names.h"
#include "core/model/model.h"
#include "core/program/program.h"
#include "core/program/reshard_list.h"
#include "core/tensors/layout.h"

namespace mtfc {

/// The program must outlive it, and so must the model, the layout and the hardware from which it was compiled.
struct ExplainedProgram {
  /// `compiled_with`: the options of the program.
  ExplainedProgram(const Model& of_model, const Layout& of_layout, const CompileOptions& compiled_with,
                   const Program& of_program, const EntryPoint& of_entry);

  const Model& model;
  const Layout& layout;
  const Program& program;
  const EntryPoint& entry;
  const CompileOptions options;  // for other layouts: of this entry point alone, and silent
  const ModelNames names;
  const std::vector<ReshardStep> reshards;  // the collectives, in the order of the steps
  const LayoutFigures figures;
};

/// The values that hold the tensor, its own form first.
std::vector<const Value*> forms_of(const EntryPoint& entry, const std::string& tensor);

}  // namespace mtfc
