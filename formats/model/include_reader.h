#pragma once
// `include`: the files that a model names, and those that they name in turn, each read once.
//
// This code opens no files itself: the caller of read_model passes a function that does, so that one rank can
// read for all.

#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/diagnostics/error.h"
#include "formats/json/cursor.h"
#include "formats/json/json_value.h"

namespace mtfc {

/// The path of a file to open, or `std/NAME.json` in the library that ships with mtfc.
struct IncludeName {
  std::string file;
  bool standard = false;
  auto operator<=>(const IncludeName&) const = default;
};

/// The text of such a file, or the reason why it can't be read.
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

  /// Reads the files that the `include` of the model at `root` names, and those that they include.
  void read(const Cursor& root);
  /// The files that could be read, each before the ones that it includes.
  const std::deque<IncludedFile>& files() const { return files_; }
  /// True if a file could not be read: unknown names may then be defined there.
  bool has_gaps() const { return has_gaps_; }
  Cursor root_of(const IncludedFile& file) const { return {file.json, file.name.file, sink_}; }

 private:
  void read_list(const Cursor& root, bool standard);
  void read_file(const Cursor& at, bool from_standard);

  const IncludeSource& source_;
  DiagnosticSink& sink_;
  std::deque<IncludedFile> files_;  // cursors point into them
  bool has_gaps_ = false;
  std::vector<IncludeName> open_;  // the chain of includes, from the model to the file that is being read
};

/// Returns whether this mtfc reads the format version at `root`, and records an error if it does not: keys of
/// an unknown version may mean anything. Only a model must state its version.
bool check_version(const Cursor& root, bool required);

}  // namespace mtfc
