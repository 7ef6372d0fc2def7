#pragma once
// The sources of data of `--input NAME=SPEC` and of a model's `data`:
//   FILE.npy   idx:FILE[.gz]   text:FILE   tokens:FILE[,width=2|4]
//   random:normal   random:uniform[,lo=,hi=]   random:int[,lo=],hi=
// then, for files, `,rows=A:B` (either end may be left out; a row of a text is one token), for text and
// tokens
// `,shift=N` and `,split=train|valid` (the first nine tenths of the tokens, or the rest), and, for any,
// `,scale=X`. Numbers may be expressions.

#include <map>
#include <optional>
#include <string>

#include "core/data.h"
#include "core/error.h"
#include "formats/expression.h"

namespace mtfc {

/// What the expressions of a spec may name: the model's params and dims, as Program::names has them.
NameLookup lookup_of(const std::map<std::string, double>& names);

/// What is wrong with a spec. The message is empty where a name in it is broken itself, which has been said.
struct DataSpecError {
  std::string message;
  std::string hint;
};
/// What the text of `spec` alone shows to be wrong, without looking at any file; nothing where it is good.
std::optional<DataSpecError> data_spec_problem(const std::string& spec, const NameLookup& lookup);

/// Reads what `spec` says of the input `input`. `giver` is the option of the command line or the place in a
/// file where it stands. Throws UserError, located there, for a malformed spec or rows that the file doesn't
/// have, and RunError for a file that is missing or broken.
InputData read_input_data(const std::string& input, const std::string& spec, const NameLookup& lookup,
                          const Location& giver);

}  // namespace mtfc
