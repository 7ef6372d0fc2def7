#pragma once
// Texts of data files as tokens. A source names its tokenizer, or the run has one for all of them; without either, the
// tokens of a text are its bytes. Inputs that read the same text share its tokens.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "core/tensors/data.h"
#include "formats/data/packed_rows.h"
#include "formats/tokenizer/tokenizer_file.h"

namespace mtfc {

class TextTokens {
 public:
  /// `usual`: the tokenizer of sources that name none, a file or the folder of a published model; "": there is none.
  explicit TextTokens(std::string usual = "") : usual_(std::move(usual)) {}

  /// Returns the tokenizer `named`, or the usual one for ""; nullptr stands for bytes. Throws UserError.
  const NamedTokenizer* tokenizer(const std::string& named);
  /// Returns the tokens of a file, one after another. Throws UserError for a file so large that every rank should not
  /// make tokens of it, RunError and UnreadableFile.
  StoredArray stream(const std::string& file, const std::string& named);
  /// Returns the rows of `length` tokens that the source describes, which are made once. Throws like make_rows().
  std::shared_ptr<const TokenRows> rows(const DocumentSource& source, int64_t length);
  /// The share of all rows so far that is no padding; nullopt if there are none.
  std::optional<double> filled() const;

 private:
  std::string usual_;
  std::map<std::string, NamedTokenizer> tokenizers_;
  std::map<std::pair<std::string, std::string>, StoredArray> streams_;
  std::map<std::pair<DocumentSource, int64_t>, std::shared_ptr<const TokenRows>> rows_;
};

}  // namespace mtfc
