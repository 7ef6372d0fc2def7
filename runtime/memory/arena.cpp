#include "runtime/memory/arena.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <new>
#include <string>
#include <utility>

#include "core/diagnostics/error.h"

namespace mtfc {
namespace {

constexpr int64_t kLargePages = int64_t{8} << 20;
// Smaller arenas are not mapped: to unmap one costs more than to run a small program on it.
constexpr int64_t kMapped = int64_t{64} << 10;
constexpr size_t kPage = 4096;

// The bytes that can be touched without driving the machine out of memory; negative if the system doesn't
// say.
int64_t free_memory() {
  std::ifstream info("/proc/meminfo");
  std::string key;
  int64_t kilobytes = 0, free = -1;
  for (std::string rest; info >> key >> kilobytes; std::getline(info, rest)) {
    if (key == "MemAvailable:") free = kilobytes * 1024;
    if (key == "SwapFree:" && free >= 0) free += kilobytes * 1024;
  }
  return free;
}

double gibibytes(int64_t bytes) {
  return static_cast<double>(bytes) / (1 << 30);
}

}  // namespace

void require_memory(int64_t bytes) {
  const int64_t free = free_memory();
  if (free >= 0 && bytes > free)
    throw RunError(fmt::format("the program needs {:.2f} GiB of memory here, but only {:.2f} GiB are free",
                               gibibytes(bytes), gibibytes(free)));
}

Arena::Arena(int64_t bytes) : bytes_(bytes) {
  if (bytes < kMapped) {
    const size_t held = (static_cast<size_t>(bytes) / kPage + 1) * kPage;
    void* memory = std::aligned_alloc(kPage, held);
    if (!memory) throw std::bad_alloc();
    std::memset(memory, 0, held);
    start_ = static_cast<std::byte*>(memory);
    release_ = [memory] { std::free(memory); };
    return;
  }
  require_memory(bytes);
  void* memory = mmap(nullptr, static_cast<size_t>(std::max<int64_t>(bytes, 1)), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    throw RunError(fmt::format("can't get {:.2f} GiB of memory for the arena: {}", gibibytes(bytes),
                               std::strerror(errno)));
  start_ = static_cast<std::byte*>(memory);
  // Large pages avoid most misses of the address cache; on systems without them, nothing is lost.
  if (bytes >= kLargePages) madvise(memory, static_cast<size_t>(bytes), MADV_HUGEPAGE);
  release_ = [memory, bytes] { munmap(memory, static_cast<size_t>(std::max<int64_t>(bytes, 1))); };
}

Arena::Arena(std::byte* start, int64_t bytes, std::function<void()> release)
    : start_(start), bytes_(bytes), release_(std::move(release)) {}

Arena::~Arena() {
  if (start_) release_();
}

Arena::Arena(Arena&& other) noexcept
    : start_(std::exchange(other.start_, nullptr)),
      bytes_(other.bytes_),
      release_(std::move(other.release_)) {}

}  // namespace mtfc
