#pragma once
// The data sources of `--input NAME=SPEC` and of a model's `data`:
//   FILE.npy   FILE.npz[,array=NAME]   idx:FILE   text:FILE[,tokenizer=FILE]   tokens:FILE[,width=2|4]
//   csv:FILE,column=NAME[+NAME...]   jsonl:FILE,key=NAME   images:FOLDER   labels:FOLDER
//   lines:FILE   csv:FILE,text=NAME[,answer=NAME]   jsonl:FILE,text=NAME[,answer=NAME]
//   random:normal   random:uniform[,lo=,hi=]   random:int[,lo=],hi=   present   of:INPUT[,part=PART][,shift=N]
// Files may be compressed by gzip, and a name with * or ? stands for several files. Files may be followed by
// `,rows=A:B` (either end may be left out; a row of a text is one token); text and tokens also by `,shift=N` and
// `,split=train|valid` (the first nine tenths of the tokens, or the rest); any source by `,scale=X`. Numbers may be
// expressions. Tokens have a width of 4 bytes, too, if the name ends in `.u32`. The texts of the third line become rows
// of tokens (packed_rows.h), for which `,tokenizer=FILE` `,end=TOKEN` `,pad=TOKEN` `,special=yes` `,pack=yes`
// `,long=cut|split` `,rows=A:B` and `,split=` may follow; rows are texts here.

#include <map>
#include <optional>
#include <string>

#include "core/diagnostics/error.h"
#include "core/tensors/data.h"
#include "core/tensors/shape.h"
#include "formats/data/packed_rows.h"
#include "formats/expression/expression.h"

namespace mtfc {

/// The names that expressions in a spec may use: the model's params and dims, as in Program::names.
NameLookup lookup_of(const std::map<std::string, double>& names);

class TextTokens;

/// The source `of:INPUT,part=PART,shift=N`: a part of the rows that another input reads.
struct DataView {
  std::string input;
  RowPart part = RowPart::kTokens;
  int64_t shift = 0;
  Dims dims = {};  // those of the other input
};

/// The input that a spec is for. Messages are located at `at`; if that has no line of a file, they repeat
/// NAME=SPEC.
struct FedInput {
  std::string name;
  std::optional<DType> dtype = std::nullopt;  // if known, values must fit it
  Location at = {"--input", 0, 0, ""};
  Dims dims = {};  // if known, rows that come without dimensions of their own get those of a row of the input
  TextTokens* texts = nullptr;  // what has been read already; without it, texts without a tokenizer are bytes
  std::optional<DataView> view = std::nullopt;  // the part of the source that is taken
};

/// Throws UserError for a malformed spec, whatever its file holds. An ExpressionError without a message
/// passes through: the broken name has been reported already (ModelScope::lookup).
void check_data_spec(const FedInput& input, const std::string& spec, const NameLookup& lookup);

/// The view that a spec describes, without its `dims`; nullopt for another source. Throws UserError if it is malformed.
std::optional<DataView> data_view(const FedInput& input, const std::string& spec, const NameLookup& lookup);

/// Reads the data that `spec` describes, which is no view. Throws UserError for a malformed spec and for rows that the
/// file lacks, and RunError for a file that is missing or broken.
InputData read_input_data(const FedInput& input, const std::string& spec, const NameLookup& lookup);

}  // namespace mtfc
