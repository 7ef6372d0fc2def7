#pragma once
// A file written at offsets or in order, until the first failure, which is kept as a message.

#include <cstddef>
#include <cstdint>
#include <string>

#include "runtime/processes/unique_fd.h"

namespace mtfc {

class OutputFile {
 public:
  /// Opens `path` with the flags of open(2). Messages call it `shown`: `cannot write SHOWN: REASON`.
  OutputFile(const std::string& path, int flags, std::string shown);
  /// Standard output.
  OutputFile();

  void write_at(const std::byte* data, int64_t bytes, int64_t offset);
  void write_at(const std::string& bytes, int64_t offset) {
    write_at(reinterpret_cast<const std::byte*>(bytes.data()), static_cast<int64_t>(bytes.size()), offset);
  }
  void append(const std::byte* data, int64_t bytes);
  /// Sets the length of the file and claims the disk space if the file system can, so that a full disk is
  /// noticed before anything is written.
  void reserve(int64_t bytes);
  void sync();
  /// The message of the first failure, or "".
  const std::string& error() const { return error_; }

 private:
  template <typename Write>
  void put(const std::byte* data, int64_t bytes, Write write);
  void fail();
  std::string shown_;
  UniqueFd file_;
  std::string error_;
};

/// Makes changes in the folder `path` durable: files created, renamed, removed. Returns false, with errno
/// set, if that fails.
bool sync_folder(const std::string& path);

}  // namespace mtfc
