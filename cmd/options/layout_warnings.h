#pragma once
// Warnings of what a layout costs needlessly: devices that idle or hold copies (core/explain/waste.h), and tensors that
// are gathered whole, for a good part of a step's communication (core/explain/costly_gathers.h).

#include <cstdint>
#include <string>
#include <vector>

#include "core/compile/pipeline.h"
#include "core/diagnostics/error.h"
#include "core/model/model.h"
#include "core/program/program.h"
#include "core/tensors/layout.h"

namespace mtfc {

class CommandLine;

/// A program and what it was compiled from.
struct CompiledModel {
  const Model& model;
  const Layout& layout;
  const CompileOptions& options;
  const Program& program;
  int64_t device_memory = 0;  // beside which bytes are shown; 0: not known
};

/// The warnings, and notes, each with a change that avoids it. `entry`: the entry point to look at; if it is "", the
/// training step, or else the evaluation. Compiles the model for some dozen other layouts if a tensor is gathered at
/// great cost.
std::vector<Diagnostic> layout_warnings(const CompiledModel& compiled, const std::string& entry);

/// The warnings and notes of devices that idle or hold copies alone, which compile nothing; also for a saved program.
std::vector<Diagnostic> waste_warnings(const Program& program, const EntryPoint& entry,
                                       int64_t device_memory);

/// The warnings of devices that have nothing to do, or the same work as others. The commands whose subject is not what
/// a layout costs show these alone, since the layout may be for other sizes of the model.
std::vector<Diagnostic> idle_warnings(const Program& program, const EntryPoint& entry);

/// --deny warnings, for a script that ends where a person would only be warned; `denied` is "warnings" or "".
void add_deny_option(CommandLine& line, std::string& denied);

/// Makes errors of the warnings, if they are denied. Returns whether there are errors then.
bool deny(const std::string& denied, std::vector<Diagnostic>& found);

}  // namespace mtfc
