#include "formats/json/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <mutex>

#include "core/diagnostics/printable.h"
#include "core/diagnostics/suggest.h"

namespace mtfc {
namespace {

[[noreturn]] void fail(const std::string& path, int error) {
  throw UnreadableFile(path, std::strerror(error), error == ENOENT ? similar_file(path) : "");
}

struct Descriptor {
  int number;
  ~Descriptor() { close(number); }
};

}  // namespace

// A member of a list that only grows: a signal handler may walk through it at any time. A region without a file is used
// for the next one.
struct MappedRegion {
  std::atomic<const std::byte*> begin = nullptr;
  size_t size = 0;
  std::string path, shown;
  MappedRegion* next = nullptr;
};

namespace {

std::mutex regions_mutex;  // guards changes of the list
std::atomic<MappedRegion*> regions = nullptr;

MappedRegion* add_region(const std::string& path, std::span<const std::byte> bytes) {
  const std::lock_guard lock(regions_mutex);
  MappedRegion* region = regions;
  while (region && region->begin != nullptr) region = region->next;
  if (!region) {
    region = new MappedRegion;
    region->next = regions;
    regions = region;
  }
  region->size = bytes.size();
  region->path = path;
  region->shown = printable(path);
  region->begin = bytes.data();
  return region;
}

}  // namespace

LostFile lost_file_at(const void* address) {
  for (const MappedRegion* region = regions; region; region = region->next) {
    const std::byte* begin = region->begin;
    const auto* at = static_cast<const std::byte*>(address);
    if (!begin || at < begin || at >= begin + region->size) continue;
    struct stat facts = {};
    const bool is_shorter =
        stat(region->path.c_str(), &facts) == 0 && static_cast<size_t>(facts.st_size) < region->size;
    return {region->shown.c_str(), is_shorter};
  }
  return {nullptr, false};
}

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
  mapped->region_ = add_region(path, mapped->bytes());
  return mapped;
}

MappedFile::~MappedFile() {
  if (region_) region_->begin = nullptr;
  if (data_) munmap(const_cast<std::byte*>(data_), size_);
}

std::string similar_file(const std::string& path) {
  std::vector<std::string> names;
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder.empty() ? "." : folder, ignored))
    names.push_back((folder / entry.path().filename()).string());
  return did_you_mean(path, names);
}

}  // namespace mtfc
