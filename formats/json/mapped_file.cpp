#include "formats/json/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace mtfc {
namespace {

[[noreturn]] void fail(const std::string& path, int error) {
  throw UnreadableFile(path, std::strerror(error));
}

struct Descriptor {
  int number;
  ~Descriptor() { close(number); }
};

}  // namespace

std::shared_ptr<const MappedFile> MappedFile::open(const std::string& path) {
  // Opening a pipe without O_NONBLOCK would wait for its writer.
  const int number = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (number < 0) fail(path, errno);
  const Descriptor file{number};
  struct stat facts = {};
  if (fstat(file.number, &facts) != 0) fail(path, errno);
  if (!S_ISREG(facts.st_mode)) throw UnreadableFile(path, "not a regular file");
  std::shared_ptr<MappedFile> mapped(new MappedFile);
  mapped->size_ = static_cast<size_t>(facts.st_size);
  if (mapped->size_ == 0) return mapped;
  void* data = mmap(nullptr, mapped->size_, PROT_READ, MAP_PRIVATE, file.number, 0);
  if (data == MAP_FAILED) fail(path, errno);
  mapped->data_ = static_cast<const std::byte*>(data);
  return mapped;
}

MappedFile::~MappedFile() {
  if (data_) munmap(const_cast<std::byte*>(data_), size_);
}

}  // namespace mtfc
