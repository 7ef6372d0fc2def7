#pragma once
// Short texts in files: the lines of a text, the fields of a column of CSV, or the values of a key of JSON Lines.

#include <cstdint>
#include <string>
#include <vector>

#include "formats/data/data_file.h"

namespace mtfc {

struct NamedTokenizer;

/// A text, or a prompt with the answer to it.
struct Document {
  std::string text;
  std::string answer;
  int64_t line = 0;  // of its file
};

enum class DocumentKind { kLines, kCsv, kJsonl };

/// Reads all documents of a file in their order. `text` and `answer` name columns of CSV or keys of JSON Lines; an
/// empty `answer` stands for none. Empty lines are passed over. Throws RunError with file and line.
std::vector<Document> read_documents(const DataFile& file, DocumentKind kind, const std::string& text,
                                     const std::string& answer);

/// Throws UserError if texts have so many bytes that not every rank should make tokens of them.
void check_text_size(const std::string& file, size_t bytes, const NamedTokenizer& tokenizer);

}  // namespace mtfc
