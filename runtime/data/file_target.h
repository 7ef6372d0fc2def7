#pragma once
// Where the bytes of a file to be written go: what is there decides.
//
// A regular file, or none, is replaced as a whole by renaming another over it; where the path is a symbolic
// link, what it points to is. A device or a pipe can't be replaced, and is written as it is.

#include <string>

namespace mtfc {

struct FileTarget {
  std::string path;       // links followed
  bool replaced = false;  // by renaming; otherwise written from beginning to end
};

FileTarget file_target(const std::string& path);

}  // namespace mtfc
