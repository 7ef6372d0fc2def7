#pragma once
// "Did you mean" for the name of a file that is not there.

#include <string>

namespace mtfc {

/// `did you mean 'FILE'?` for the file, or the folder, of the same folder whose name is most like `path`, or "" if none
/// is near.
std::string similar_file(const std::string& path);

}  // namespace mtfc
