#pragma once
// Files in /dev/shm that MPI leaves there when ranks are killed at the wrong moment. MPI makes such a file, and removes
// its name as soon as all ranks of the node have mapped it, within milliseconds. A name that stays takes memory until
// the machine is restarted.

#include <string>

#include "runtime/processes/unique_fd.h"

namespace mtfc {

/// While one of these lives, MPI may make files. Other mtfc processes then leave all files alone, even where they see
/// nobody use them because the ranks are in containers.
class MakesSharedFiles {
 public:
  MakesSharedFiles();

 private:
  UniqueFd folder_;  // with a lock
};

/// Removes the files of this user that MPI has left in `folder` and that no process uses. Does nothing while some mtfc
/// process makes files. Returns the number of files removed.
int remove_left_files(const std::string& folder = "/dev/shm");

}  // namespace mtfc
