#include "runtime/data/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace mtfc {

OutputFile::OutputFile(const std::string& path, int flags, std::string shown)
    : shown_(std::move(shown)), file_(open(path.c_str(), flags | O_CLOEXEC, 0666)) {
  if (!file_) fail();
}

OutputFile::OutputFile() : shown_("to standard output"), file_(dup(STDOUT_FILENO)) {}

template <typename Write>
void OutputFile::put(const std::byte* data, int64_t bytes, Write write) {
  while (bytes > 0 && error_.empty()) {
    const ssize_t written = write(data, static_cast<size_t>(bytes));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return fail();
    data += written;
    bytes -= written;
  }
}

void OutputFile::write_at(const std::byte* data, int64_t bytes, int64_t offset) {
  put(data, bytes, [&](const std::byte* at, size_t count) {
    return pwrite(file_.get(), at, count, offset + (at - data));
  });
}

void OutputFile::append(const std::byte* data, int64_t bytes) {
  put(data, bytes, [&](const std::byte* at, size_t count) { return ::write(file_.get(), at, count); });
}

void OutputFile::reserve(int64_t bytes) {
  if (!error_.empty() || bytes == 0) return;
  int failed = 0;
  do failed = fallocate(file_.get(), 0, 0, bytes) == 0 ? 0 : errno;
  while (failed == EINTR);
  if (failed == 0) return;
  // A file system that can't claim space can still set the file's length.
  if (failed != EOPNOTSUPP && failed != ENOSYS) {
    errno = failed;
    return fail();
  }
  if (ftruncate(file_.get(), bytes) != 0) fail();
}

void OutputFile::sync() {
  if (error_.empty() && fsync(file_.get()) != 0 && errno != EINVAL) fail();
}

void OutputFile::fail() {
  error_ = fmt::format("cannot write {}: {}", shown_, std::strerror(errno));
}

bool sync_folder(const std::string& path) {
  UniqueFd folder(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder) return false;
  const bool done = fsync(folder.get()) == 0 || errno == EINVAL;
  const int reason = errno;
  folder.reset();
  errno = reason;
  return done;
}

}  // namespace mtfc
