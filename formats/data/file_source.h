#pragma once
// The arrays that files hold, whatever kind of files these are.

#include <string>
#include <vector>

#include "core/tensors/data.h"
#include "core/tensors/shape.h"

namespace mtfc {

class TextTokens;

enum class FileKind { kNpy, kNpz, kIdx, kText, kTokens, kCsv, kJsonl, kLines, kImages, kLabels };

/// A FileSource names files of one kind, and says which part of them is taken.
struct FileSource {
  FileKind kind = FileKind::kNpy;
  std::string file;                       // or a pattern with * and ?, or a folder
  std::string array = "";                 // of an .npz archive; "": its only one
  StoredType token = StoredType::kU16;    // of kTokens
  std::string tokenizer = "";             // of kText; "": the usual one
  std::vector<std::string> columns = {};  // of kCsv: their names; of kJsonl: the key
  Dims dims = {};                         // of kImages: those of the input
};

/// Returns whether a source of this kind is a folder.
bool is_folder(FileKind kind);

/// Reads all that the source names; the arrays of several files follow each other along the first dimension. `texts`
/// makes tokens of kText. Not for kLines, whose rows are made of all files (packed_rows.h). Throws UnreadableFile,
/// UserError and RunError.
StoredArray read_file_source(const FileSource& source, TextTokens& texts);

}  // namespace mtfc
