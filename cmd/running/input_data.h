#pragma once
// The data that --input and the model's own `data` name, opened.

#include <string>
#include <utility>
#include <vector>

#include "core/program/program.h"
#include "core/tensors/data.h"

namespace mtfc {

/// Splits NAME=VALUE. Throws UserError that names the option.
std::pair<std::string, std::string> split_assignment(const std::string& text, const std::string& option);

/// What `specs` (NAME=SPEC, of the option `option`) say; for other inputs `defaults`, or where there are none
/// the sources of the model's `data`. Throws UserError and RunError.
std::vector<InputData> read_inputs(const Program& program, const std::vector<std::string>& specs,
                                   const std::string& option, const std::vector<InputData>& defaults);

/// Throws UserError for an input of `entry` that `inputs` lack.
void require_data(const EntryPoint& entry, const std::vector<InputData>& inputs);

}  // namespace mtfc
