#pragma once
// The data of the inputs that `encode` reads, such as the sentences to translate: a row for each sequence.
//
//   --input sources=FILE.npy      rows of a file, as many at a time as the model's batch has
//   --source-tokens 5,7,9         one row, filled up with zeros
//   --source TEXT                 the same, of bytes or the tokens of a tokenizer

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/model/model.h"
#include "core/program/program.h"
#include "core/tensors/data.h"
#include "formats/tokenizer/tokenizer.h"
#include "runtime/data/feed.h"

namespace mtfc {

struct SourceOptions {
  std::vector<std::string> inputs;   // NAME=SPEC, as in `mtfc run`
  std::string usual_tokenizer = "";  // of texts that these read; "": they are bytes
  std::vector<std::string> source_texts;
  std::shared_ptr<const Tokenizer> tokenizer = {};  // of texts; null: they are bytes
  std::vector<std::string> source_tokens;           // lists of ids

  /// The number of rows that the command line itself gives; 0 if they come from --input.
  size_t source_count() const { return source_texts.size() + source_tokens.size(); }
  bool has_sources() const { return source_count() > 0 || !inputs.empty(); }
};

/// Throws UserError for options that contradict each other.
void check(const SourceOptions& options);

/// Throws UserError if the model needs sources and has none, if it needs none and has some, or if the rows of its
/// inputs do not lie along `sequences`, the dimension of the sequences.
void require_sources(const Model& model, const std::optional<Dim>& sequences, const SourceOptions& options);

struct EncodeData {
  std::vector<InputData> inputs;
  /// The number of rows, if that is known before they are fed: rows that do not fill a batch are followed by zeros.
  std::optional<int64_t> rows = {};
};
/// Opens the data. Throws UserError and RunError, on every rank alike unless files differ.
EncodeData open_sources(const Program& program, const SourceOptions& options);

/// The rows in a feed of this data. Throws RunError if inputs have different numbers of rows.
int64_t rows_of(const EncodeData& data, const Feed& feed);

}  // namespace mtfc
