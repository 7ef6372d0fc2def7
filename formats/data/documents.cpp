#include "formats/data/documents.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

#include "core/diagnostics/error.h"
#include "formats/data/csv_reader.h"
#include "formats/data/jsonl_reader.h"
#include "formats/tokenizer/tokenizer_file.h"

namespace mtfc {
namespace {

std::vector<Document> lines_of(const DataFile& file) {
  std::vector<Document> documents;
  const std::string_view text = file.text();
  int64_t number = 1;
  for (size_t begin = 0; begin < text.size(); ++number) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line = text.substr(begin, end - begin);
    begin = end + 1;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.empty()) documents.push_back({std::string(line), "", number});
  }
  return documents;
}

// Texts of one row arrive one after another, the text itself first.
void add_text(std::vector<Document>& documents, std::string_view text, bool is_answer, int64_t line) {
  if (is_answer)
    documents.back().answer = text;
  else
    documents.push_back({std::string(text), "", line});
}

}  // namespace

std::vector<Document> read_documents(const DataFile& file, DocumentKind kind, const std::string& text,
                                     const std::string& answer) {
  if (file.bytes.empty()) throw RunError(file.name + ": the file is empty");
  std::vector<Document> documents;
  std::vector<std::string> names = {text};
  if (!answer.empty()) names.push_back(answer);
  if (kind == DocumentKind::kLines) documents = lines_of(file);
  bool is_answer = false;
  const auto take = [&](std::string_view found, int64_t line) {
    add_text(documents, found, is_answer, line);
    is_answer = !answer.empty() && !is_answer;
  };
  if (kind == DocumentKind::kCsv) {
    const CsvSize size =
        read_csv_fields(file, names, [&](const CsvField& field) { take(field.text, field.line); });
    if (size.columns != names.size())
      throw RunError(fmt::format("{}: '{}' names several columns, but a text is in one", file.name,
                                 fmt::join(names, "' or '")));
  }
  if (kind == DocumentKind::kJsonl) read_jsonl_texts(file, names, take);
  if (documents.empty()) throw RunError(file.name + ": the file has no texts");
  return documents;
}

void check_text_size(const std::string& file, size_t bytes, const NamedTokenizer& tokenizer) {
  // Each rank takes about a minute of a core for the longest.
  constexpr size_t kMost = size_t{256} << 20;
  if (bytes > kMost)
    throw UserError(
        fmt::format("{}: the text has more than {} MiB, of which every rank would make tokens", file,
                    kMost >> 20),
        fmt::format(
            "make them once: mtfc tokenize {} --tokenizer {} -o FILE.u32, which tokens:FILE.u32 reads; or "
            "take some rows of short texts: ,rows=A:B",
            file, tokenizer.file));
}

}  // namespace mtfc
