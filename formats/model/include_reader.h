#pragma once
// `include`: the files that a model names, and those that these name, each read once.
//
// Nothing here opens a file: the caller of read_model gives a function that does, so that one rank can read
// for all.

#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/diagnostics/error.h"
#include "formats/json/cursor.h"
#include "formats/json/json_value.h"

namespace mtfc {

/// A path as it is to be opened, or `std/NAME.json` of the library that ships with mtfc.
struct IncludeName {
  std::string file;
  bool standard = false;
  auto operator<=>(const IncludeName&) const = default;
};

/// What stands there, or why it can't be read.
struct IncludeText {
  std::optional<std::string> text;
  std::string problem = {};  // "cannot read …"
  std::string hint = {};
};
using IncludeSource = std::function<IncludeText(const IncludeName&)>;

struct IncludedFile {
  IncludeName name;
  JsonValue json;
  Location from;  // where it was included first
};

class IncludeReader {
 public:
  IncludeReader(const IncludeSource& source, DiagnosticSink& sink) : source_(source), sink_(sink) {}

  /// Reads what the `include` of the model at `root` names, and so on.
  void read(const Cursor& root);
  /// Those that could be read, an including file before the ones that it includes.
  const std::deque<IncludedFile>& files() const { return files_; }
  /// Whether one could not: names that are unknown then may be its.
  bool has_gaps() const { return has_gaps_; }
  Cursor root_of(const IncludedFile& file) const { return {file.json, file.name.file, sink_}; }

 private:
  void read_list(const Cursor& root, bool standard);
  void read_file(const Cursor& at, bool from_standard);

  const IncludeSource& source_;
  DiagnosticSink& sink_;
  std::deque<IncludedFile> files_;  // cursors point into them
  bool has_gaps_ = false;
  std::vector<IncludeName> open_;  // from the model to the file that is being read
};

/// Whether the format version at `root` is one that this mtfc reads; an error otherwise. False for a version
/// whose keys may mean anything. Only a model must state it.
bool check_version(const Cursor& root, bool required);

}  // namespace mtfc
