#pragma once
// A folder that appears with all its files or not at all:
//
//   DIR.part/    while its files are written
//   DIR/         renamed once all is on disk
//
// A killed process leaves a folder whose name ends in kUnfinished, which may be deleted.

#include <string>

namespace mtfc {

inline constexpr const char* kUnfinished = ".part";

class NewFolder {
 public:
  /// No folder `path` may exist when complete() is called.
  explicit NewFolder(std::string path) : path_(std::move(path)), unfinished_(path_ + kUnfinished) {}

  /// The path of a file while it is written.
  std::string file(const std::string& name) const { return unfinished_ + "/" + name; }
  /// Makes the unfinished folder, in the place of one that an earlier process has left. Returns false, with errno set,
  /// if that fails.
  bool begin() const;
  /// Gives the folder its name. Returns false, with errno set, if that fails.
  bool complete() const;
  /// Removes the unfinished folder.
  void remove() const;

 private:
  std::string path_, unfinished_;
};

}  // namespace mtfc
