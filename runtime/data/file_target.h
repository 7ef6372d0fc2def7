#pragma once
// Decides how a file is written, which depends on what exists at its path.
//
// A regular file, or none, is replaced as a whole by renaming another file to it; if the path is a symbolic
// link, the target of the link is replaced. A device or a pipe can't be replaced and is written directly.

#include <string>

namespace mtfc {

struct FileTarget {
  std::string path;       // with links followed
  bool replaced = false;  // by renaming; otherwise the file is written from beginning to end
};

FileTarget file_target(const std::string& path);

}  // namespace mtfc
