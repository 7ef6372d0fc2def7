#pragma once
// The sources of data of `--input NAME=SPEC` and of a model's `data`:
//   FILE.npy   idx:FILE[.gz]   text:FILE   tokens:FILE[,width=2|4]
//   random:normal   random:uniform[,lo=,hi=]   random:int[,lo=],hi=   present
// then, for files, `,rows=A:B` (either end may be left out; a row of a text is one token), for text and
// tokens
// `,shift=N` and `,split=train|valid` (the first nine tenths of the tokens, or the rest), and, for any,
// `,scale=X`. Numbers may be expressions.

#include <map>
#include <optional>
#include <string>

#include "core/diagnostics/error.h"
#include "core/tensors/data.h"
#include "core/tensors/shape.h"
#include "formats/expression/expression.h"

namespace mtfc {

/// What the expressions of a spec may name: the model's params and dims, as Program::names has them.
NameLookup lookup_of(const std::map<std::string, double>& names);

/// The input that a spec is for. Messages stand at `at`; without a line of a file they repeat NAME=SPEC.
struct FedInput {
  std::string name;
  std::optional<DType> dtype = std::nullopt;  // where it is known, values must fit it
  Location at = {"--input", 0, 0, ""};
};

/// Throws UserError for a spec that is malformed, whatever its file holds. An ExpressionError without a
/// message passes through: the expression names what is broken itself (ModelScope::lookup).
void check_data_spec(const FedInput& input, const std::string& spec, const NameLookup& lookup);

/// Reads what `spec` says. Throws UserError for a malformed spec and for rows that the file lacks, and
/// RunError for a file that is missing or broken.
InputData read_input_data(const FedInput& input, const std::string& spec, const NameLookup& lookup);

}  // namespace mtfc
