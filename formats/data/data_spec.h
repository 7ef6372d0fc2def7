#pragma once
// The data sources of `--input NAME=SPEC` and of a model's `data`:
//   FILE.npy   FILE.npz[,array=NAME]   idx:FILE   text:FILE   tokens:FILE[,width=2|4]
//   csv:FILE,column=NAME[+NAME...]   jsonl:FILE,key=NAME   images:FOLDER   labels:FOLDER
//   random:normal   random:uniform[,lo=,hi=]   random:int[,lo=],hi=   present
// Files may be compressed by gzip, and a name with * or ? stands for several files. Files may be followed by
// `,rows=A:B` (either end may be left out; a row of a text is one token); text and tokens also by `,shift=N` and
// `,split=train|valid` (the first nine tenths of the tokens, or the rest); any source by `,scale=X`. Numbers may be
// expressions. Tokens have a width of 4 bytes, too, if the name ends in `.u32`.

#include <map>
#include <optional>
#include <string>

#include "core/diagnostics/error.h"
#include "core/tensors/data.h"
#include "core/tensors/shape.h"
#include "formats/expression/expression.h"

namespace mtfc {

/// The names that expressions in a spec may use: the model's params and dims, as in Program::names.
NameLookup lookup_of(const std::map<std::string, double>& names);

/// The input that a spec is for. Messages are located at `at`; if that has no line of a file, they repeat
/// NAME=SPEC.
struct FedInput {
  std::string name;
  std::optional<DType> dtype = std::nullopt;  // if known, values must fit it
  Location at = {"--input", 0, 0, ""};
  Dims dims = {};  // if known, rows that come without dimensions of their own get those of a row of the input
};

/// Throws UserError for a malformed spec, whatever its file holds. An ExpressionError without a message
/// passes through: the broken name has been reported already (ModelScope::lookup).
void check_data_spec(const FedInput& input, const std::string& spec, const NameLookup& lookup);

/// Reads the data that `spec` describes. Throws UserError for a malformed spec and for rows that the file
/// lacks, and RunError for a file that is missing or broken.
InputData read_input_data(const FedInput& input, const std::string& spec, const NameLookup& lookup);

}  // namespace mtfc
