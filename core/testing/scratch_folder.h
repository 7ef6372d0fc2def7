#pragma once
// The files of tests: a folder that goes away with the test, and the contents of a file.
//
//   const ScratchFolder folder;
//   shell(fmt::format("$MTFC run model.json --report {}", folder / "report"));
//   contents(folder / "report")

#include <filesystem>
#include <string>

namespace mtfc {

/// A folder that no other test or process uses; it is removed with all its contents.
struct ScratchFolder {
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  /// The path of a file in it.
  std::string operator/(const std::string& name) const { return (path / name).string(); }
  /// The file's contents; "" if there is no such file.
  std::string read(const std::string& name) const;
  /// Returns the file's path.
  std::string write(const std::string& name, const std::string& bytes) const;

  const std::filesystem::path path;
};

/// The file's contents; "" if there is no such file. If reading fails, the part that could be read: the files in /proc
/// of a process that ends meanwhile can be opened but not read.
std::string contents(const std::string& path);

}  // namespace mtfc
