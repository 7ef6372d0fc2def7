#pragma once
// The files that a model includes, opened once by the rank that reads the model; the other ranks receive the
// texts.

#include <map>
#include <string>
#include <vector>

#include "formats/model/include_reader.h"

namespace mtfc {

/// Several texts as one, to send them to other ranks; unpacked_texts() is the inverse.
std::string packed_texts(const std::vector<std::string>& texts);
std::vector<std::string> unpacked_texts(const std::string& bytes);

class IncludedFiles {
 public:
  /// Returns the text from memory, or else from the disk: a path as it is, `std/NAME.json` from the library
  /// that ships with mtfc.
  IncludeText read(const IncludeName& name);

  /// Packs all texts into one string for the other ranks; unpack() is the inverse.
  std::string packed() const;
  void unpack(const std::string& bytes);

 private:
  std::map<IncludeName, std::string> texts_;
};

/// The folder that holds std/: the one beside an installed mtfc, or else the one in the source it was built
/// from.
std::string library_folder();

}  // namespace mtfc
