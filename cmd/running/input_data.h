#pragma once
// Opens the data that --input and the model's own `data` name.

#include <string>
#include <utility>
#include <vector>

#include "core/program/program.h"
#include "core/tensors/data.h"
#include "formats/data/text_tokens.h"

namespace mtfc {

/// Splits NAME=VALUE. Throws UserError that names the option.
std::pair<std::string, std::string> split_assignment(const std::string& text, const std::string& option);

/// Throws UserError if two of `values` (NAME=VALUE, of the option `option`) have one name: `--input feeds 'x' twice`.
void require_one_each(const std::vector<std::string>& values, const std::string& option,
                      const std::string& verb);

/// Sources that the user gives.
struct GivenSources {
  std::vector<std::string> specs;  // NAME=SPEC
  std::string option;              // `--input`
};

/// Reads the inputs that `given` names, and texts by `texts`. Other inputs come from `defaults` or, if that is empty,
/// from the sources in the model's `data`. With `needed_by`, inputs that this entry point does not have are not read.
/// A view of another input (`of:NAME`) is one of the data that this input gets here, also if the view itself is a
/// default. Throws UserError and RunError.
std::vector<InputData> read_inputs(const Program& program, const GivenSources& given,
                                   const std::vector<InputData>& defaults, TextTokens& texts,
                                   const EntryPoint* needed_by = nullptr);

/// Throws UserError if `inputs` lack an input of `entry`.
void require_data(const EntryPoint& entry, const std::vector<InputData>& inputs);

}  // namespace mtfc
