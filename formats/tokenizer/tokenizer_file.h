#pragma once
// The file of a tokenizer, by its own name or by the folder of a published model.

#include <memory>
#include <string>

#include "formats/tokenizer/tokenizer.h"

namespace mtfc {

/// The tokenizer.json in a folder of a published model, or tokenizer.model if that is all there is, or `path` itself.
std::string tokenizer_file(const std::string& path);

/// A tokenizer, and a hash of the file that describes it, by which copies are told apart.
struct NamedTokenizer {
  std::shared_ptr<const Tokenizer> tokenizer;
  std::string file;
  uint64_t hash = 0;
};

/// Reads the tokenizer of a file, or of the folder of a published model. Throws UserError.
NamedTokenizer read_tokenizer_file(const std::string& path);

}  // namespace mtfc
