#pragma once
// The files that a model includes, opened once by the rank that reads the model; the others get the texts.

#include <map>
#include <string>

#include "formats/model/include_reader.h"

namespace mtfc {

class IncludedFiles {
 public:
  /// The text from memory, else from the disk: a path as it stands, `std/NAME.json` from the library that
  /// ships with mtfc.
  IncludeText read(const IncludeName& name);

  /// All texts as one string, for the other ranks, and back.
  std::string packed() const;
  void unpack(const std::string& bytes);

 private:
  std::map<IncludeName, std::string> texts_;
};

/// The folder that holds std/: beside an installed mtfc, else in the source it was built from.
std::string library_folder();

}  // namespace mtfc
