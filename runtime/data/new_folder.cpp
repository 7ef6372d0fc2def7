#include "runtime/data/new_folder.h"

#include <sys/stat.h>

#include <cstdio>
#include <filesystem>

#include "runtime/data/output_file.h"

namespace mtfc {

bool NewFolder::begin() const {
  remove();
  return mkdir(unfinished_.c_str(), 0777) == 0;
}

bool NewFolder::complete() const {
  const std::string parent = std::filesystem::path(path_).parent_path().string();
  return sync_folder(unfinished_) && std::rename(unfinished_.c_str(), path_.c_str()) == 0 &&
         sync_folder(parent.empty() ? "." : parent);
}

void NewFolder::remove() const {
  std::error_code ignored;
  std::filesystem::remove_all(unfinished_, ignored);
}

}  // namespace mtfc
