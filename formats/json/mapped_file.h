#pragma once
// A file mapped into memory, read-only, for as long as anyone holds it.

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "core/diagnostics/error.h"

namespace mtfc {

/// There is nothing to map: the file is missing, not a regular file, or this user may not read it. A caller
/// that knows the purpose of the file can catch this and say so.
struct UnreadableFile : RunError {
  UnreadableFile(const std::string& path, const std::string& why, const std::string& what_to_do = "")
      : RunError(path + ": " + with_hint(why, what_to_do)), reason(why), hint(what_to_do) {}
  /// The reason, with the hint in parentheses if there is one.
  std::string text() const { return with_hint(reason, hint); }

  std::string reason, hint;

 private:
  static std::string with_hint(const std::string& why, const std::string& hint) {
    return hint.empty() ? why : why + " (" + hint + ")";
  }
};

/// The memory in which a mapped file lies, and the name of the file as it is shown to people. Signal handlers read it.
struct MappedRegion;

class MappedFile {
 public:
  /// Throws UnreadableFile if `path` is not a regular file or can't be read.
  static std::shared_ptr<const MappedFile> open(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return {data_, size_}; }

 private:
  MappedFile() = default;
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
  MappedRegion* region_ = nullptr;
};

/// A mapped file that can't be read at some address any more: its contents raise SIGBUS there.
struct LostFile {
  const char* shown = nullptr;  // its name, without control characters; lives as long as the file is mapped
  bool is_shorter = false;      // than when it was mapped; otherwise the disk, or the network, has failed
};
/// The mapped file that `address` lies in, if any; `shown` is null otherwise. May be called in a signal handler.
LostFile lost_file_at(const void* address);

/// "Did you mean" for the name of a file that is not there: `did you mean 'FILE'?` for the file, or the folder, of the
/// same folder whose name is most like `path`, or "" if none is near.
std::string similar_file(const std::string& path);

}  // namespace mtfc
