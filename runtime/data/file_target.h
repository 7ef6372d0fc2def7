#pragma once
// Decides how a file is written, which depends on what exists at its path.
//
// A regular file, or none, is replaced as a whole by renaming another file to it; if the path is a symbolic
// link, the target of the link is replaced. A device or a pipe can't be replaced and is written directly.
//
// In a folder where everybody may make files but nobody may remove those of others, as in /tmp, a link of another user
// is not followed: that user could choose which file is lost. The system has the same rule (fs.protected_symlinks), but
// does not see links that a program follows by itself.

#include <fcntl.h>

#include <string>

namespace mtfc {

struct FileTarget {
  std::string path;       // with links followed
  bool replaced = false;  // by renaming; otherwise the file is written from beginning to end
  int reason = 0;         // the system's, why the file must not be written; 0: none
};

FileTarget file_target(const std::string& path);

/// A name in the folder of `target` for the file that will replace it. Nobody can foresee the name, and no other run
/// uses it.
std::string temporary_name(const std::string& target);
/// The flags of open(2) that create a file of that name, with the permissions of any new file, and never follow a link.
/// (mkstemp would give it other permissions.)
inline constexpr int kNewFile = O_WRONLY | O_CREAT | O_EXCL;

}  // namespace mtfc
