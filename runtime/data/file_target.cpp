#include "runtime/data/file_target.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <random>

namespace mtfc {
namespace {

// Returns whether another user has laid this link in a folder that everybody writes to.
bool is_planted(const std::filesystem::path& link) {
  struct stat of_link = {}, of_folder = {};
  const std::string folder = link.parent_path().empty() ? "." : link.parent_path().string();
  if (lstat(link.c_str(), &of_link) != 0 || stat(folder.c_str(), &of_folder) != 0) return false;
  constexpr mode_t kShared = S_ISVTX | S_IWOTH;
  return (of_folder.st_mode & kShared) == kShared && of_link.st_uid != geteuid() &&
         of_link.st_uid != of_folder.st_uid;
}

}  // namespace

FileTarget file_target(const std::string& path) {
  constexpr int kMostLinks = 40;
  namespace fs = std::filesystem;
  std::error_code error;
  fs::path target = path;
  for (int links = 0; links < kMostLinks && fs::is_symlink(target, error); ++links) {
    // Links to open files, which /dev/stdout ends in, have no path that could be a target of rename.
    const fs::path folder = fs::weakly_canonical(target.parent_path(), error);
    if (folder.string().starts_with("/proc/")) return {path, false};
    if (is_planted(target)) return {path, false, EACCES};
    const fs::path to = fs::read_symlink(target, error);
    if (error) break;
    target = to.is_absolute() ? to : target.parent_path() / to;
  }
  if (fs::exists(target, error) && !fs::is_regular_file(target, error)) return {path, false};
  return {target.string(), true};
}

std::string temporary_name(const std::string& target) {
  std::random_device random;  // the system's
  return fmt::format("{}.{:08x}{:04x}.part", target, random(), random() & 0xffff);
}

}  // namespace mtfc
