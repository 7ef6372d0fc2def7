#pragma once
// The sources of data of `--input NAME=SPEC` and of a model's `data`:
//   FILE.npy   idx:FILE[.gz]   text:FILE   tokens:FILE[,width=2|4]
//   random:normal   random:uniform[,lo=,hi=]   random:int[,lo=],hi=
// then, for files, `,rows=A:B` (either end may be left out; a row of a text is one token), for text and
// tokens
// `,shift=N` and `,split=train|valid` (the first nine tenths of the tokens, or the rest), and, for any,
// `,scale=X`. Numbers may be expressions.

#include <map>
#include <string>

#include "core/data.h"
#include "formats/expression.h"

namespace mtfc {

/// What the expressions of a spec may name: the model's params and dims, as Program::names has them.
NameLookup lookup_of(const std::map<std::string, double>& names);

/// Reads what `spec` says of the input `input`. Throws UserError, located at `--input`, for a malformed spec,
/// and RunError for a file that is missing or broken.
InputData read_input_data(const std::string& input, const std::string& spec, const NameLookup& lookup);

}  // namespace mtfc
