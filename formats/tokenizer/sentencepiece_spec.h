#pragma once
// The parts of a model of sentencepiece that its library does not tell, and checks of the parts that it trusts: a
// message ModelProto of protocol buffers.
//
//   ModelProto        1 pieces (1 text, 2 score, 3 type), 2 TrainerSpec, 3 NormalizerSpec, 4 self-test
//   TrainerSpec       3 kind of model, 24 spaces end words, 35 byte fallback
//   NormalizerSpec    2 table of characters, 3 prefix, 4 removal of spaces

#include <string>
#include <string_view>

#include "core/diagnostics/error.h"

namespace mtfc {

/// The reason why a model is damaged.
class SentencepieceError : public Error {
 public:
  using Error::Error;
};

struct SentencepieceSpec {
  bool prefixes = true;        // A text gets a space in front of it.
  bool removes_spaces = true;  // A text loses spaces at its ends, and all but one elsewhere.
  bool may_cut_lines = false;  // as for a Tokenizer
};

/// Throws SentencepieceError.
SentencepieceSpec read_sentencepiece_spec(std::string_view model);

/// The same model, where texts get a space in front of them or not, and which the library does not test.
std::string with_prefix(std::string_view model, bool prefixes);

}  // namespace mtfc
