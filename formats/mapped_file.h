#pragma once
// A file mapped into memory, read only, for as long as someone holds it.

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace mtfc {

class MappedFile {
 public:
  /// Throws RunError, with the file's name, where `path` is no regular file or can't be read.
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
