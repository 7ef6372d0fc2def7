#pragma once
// A file mapped into memory, read only, for as long as someone holds it.

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "core/diagnostics/error.h"

namespace mtfc {

/// There is nothing to map: the file is missing, not a regular one, or closed to this user. Whoever knows
/// what the file was for can say so.
struct UnreadableFile : RunError {
  UnreadableFile(const std::string& path, const std::string& why)
      : RunError(path + ": " + why), reason(why) {}
  std::string reason;
};

class MappedFile {
 public:
  /// Throws UnreadableFile where `path` is no regular file or can't be read.
  static std::shared_ptr<const MappedFile> open(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return {data_, size_}; }

 private:
  MappedFile() = default;
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace mtfc
