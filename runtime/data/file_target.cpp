#include "runtime/data/file_target.h"

#include <fmt/format.h>

#include <filesystem>
#include <random>

namespace mtfc {

FileTarget file_target(const std::string& path) {
  constexpr int kMostLinks = 40;
  namespace fs = std::filesystem;
  std::error_code error;
  fs::path target = path;
  for (int links = 0; links < kMostLinks && fs::is_symlink(target, error); ++links) {
    // Links to open files, which /dev/stdout ends in, have no path that could be a target of rename.
    const fs::path folder = fs::weakly_canonical(target.parent_path(), error);
    if (folder.string().starts_with("/proc/")) return {path, false};
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
