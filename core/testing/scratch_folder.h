#pragma once
// Files of tests: a folder that goes away with the test, and what is in a file.
//
//   const ScratchFolder folder;
//   shell(fmt::format("$MTFC run model.json --report {}", folder / "report"));
//   contents(folder / "report")

#include <filesystem>
#include <string>

namespace mtfc {

/// A folder that no other test or process uses, removed with all that is in it.
struct ScratchFolder {
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  /// The path of a file in it.
  std::string operator/(const std::string& name) const { return (path / name).string(); }
  /// "" where there is no such file.
  std::string read(const std::string& name) const;
  /// Returns the file's path.
  std::string write(const std::string& name, const std::string& bytes) const;

  const std::filesystem::path path;
};

/// "" where there is no such file.
std::string contents(const std::string& path);

}  // namespace mtfc
