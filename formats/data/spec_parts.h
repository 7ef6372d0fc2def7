#pragma once
// The description of a data source, taken apart: `text:a.txt,shift=1` has the source `text:a.txt` and one option.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/data/file_source.h"

namespace mtfc {

struct SpecOption {
  std::string key;
  std::string value;
};

struct SpecParts {
  /// Names of files may contain what looks like options: `run,lr=3.npy` is one if there is such a file.
  explicit SpecParts(const std::string& spec);

  /// Returns the option's value; nullptr if it is not given.
  const std::string* find(std::string_view key) const;

  std::string source;
  std::vector<SpecOption> options;
};

/// `idx` for `idx:FILE`; "" for a source without a colon.
std::string prefix_of(const std::string& source);

/// The kind of file that a source names, and its name; nullopt for a source of another kind.
std::optional<FileSource> file_of(const std::string& source);

}  // namespace mtfc
