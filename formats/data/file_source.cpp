#include "formats/data/file_source.h"

#include <vector>

#include "core/diagnostics/error.h"
#include "formats/data/csv_reader.h"
#include "formats/data/idx.h"
#include "formats/data/image_folder.h"
#include "formats/data/joined_array.h"
#include "formats/data/jsonl_reader.h"
#include "formats/data/npy.h"
#include "formats/data/text_tokens.h"
#include "formats/data/token_file.h"

namespace mtfc {
namespace {

StoredArray read_one(const FileSource& source, const std::string& file, TextTokens& texts) {
  switch (source.kind) {
    case FileKind::kNpy:
      return read_npy(file);
    case FileKind::kNpz:
      return read_npz(file, source.array);
    case FileKind::kIdx:
      return read_idx(file);
    case FileKind::kText:
      return texts.stream(file, source.tokenizer);
    case FileKind::kTokens:
      return read_tokens(file, source.token);
    case FileKind::kCsv:
      return read_csv(file, source.columns);
    case FileKind::kJsonl:
      return read_jsonl(file, source.columns.front());
    case FileKind::kImages:
      return read_images(file, source.dims);
    case FileKind::kLabels:
      return read_image_labels(file);
    case FileKind::kLines:
      break;
  }
  throw InternalError("a kind of file is not read");
}

}  // namespace

bool is_folder(FileKind kind) {
  return kind == FileKind::kImages || kind == FileKind::kLabels;
}

StoredArray read_file_source(const FileSource& source, TextTokens& texts) {
  if (is_folder(source.kind)) return read_one(source, source.file, texts);
  std::vector<StoredArray> arrays;
  for (const std::string& file : files_of_pattern(source.file))
    arrays.push_back(read_one(source, file, texts));
  return joined(std::move(arrays), source.file);
}

}  // namespace mtfc
