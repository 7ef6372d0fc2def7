#include "runtime/processes/progress_page.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <new>
#include <random>
#include <string>

namespace mtfc {
namespace {

constexpr const char* kName = "mtfc-progress";

// The page without atomics.
struct Image {
  uint64_t token, count, beats;
  int64_t entry, step, train_step, speaker;
};
static_assert(sizeof(Image) == sizeof(PageMemory));

std::optional<Image> read_image(int file) {
  Image image{};
  if (pread(file, &image, sizeof image, 0) != static_cast<ssize_t>(sizeof image)) return std::nullopt;
  return image;
}

}  // namespace

OwnPage::OwnPage() : file_(memfd_create(kName, MFD_CLOEXEC)) {
  const bool shared = file_ && ftruncate(file_.get(), sizeof(PageMemory)) == 0;
  void* const memory = mmap(nullptr, sizeof(PageMemory), PROT_READ | PROT_WRITE,
                            shared ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS, shared ? file_.get() : -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  memory_ = new (memory) PageMemory{};
  if (!shared) return;
  std::random_device random;
  memory_->token = (uint64_t{random()} << 32) | random();
  place_ = {getpid(), file_.get(), memory_->token};
}

OwnPage::~OwnPage() {
  munmap(memory_, sizeof(PageMemory));
}

RankProgress OwnPage::progress() const {
  return {
      memory_->count, memory_->beats, {static_cast<int>(memory_->entry), memory_->step, memory_->train_step}};
}

// The descriptor may be another process's pipe by now, which would make open() wait.
UniqueFd open_page(const ProgressPage& page, int flags) {
  if (page.process == 0) return UniqueFd();
  return UniqueFd(
      open(fmt::format("/proc/{}/fd/{}", page.process, page.file).c_str(), flags | O_CLOEXEC | O_NONBLOCK));
}

std::optional<RankProgress> read_progress(const ProgressPage& page) {
  const UniqueFd file = open_page(page, O_RDONLY);
  const std::optional<Image> image = file ? read_image(file.get()) : std::nullopt;
  if (!image || image->token != page.token) return std::nullopt;
  return RankProgress{
      image->count, image->beats, {static_cast<int>(image->entry), image->step, image->train_step}};
}

ProgressPage page_of(pid_t process) {
  namespace fs = std::filesystem;
  std::error_code error;
  const std::string wanted = fmt::format("/memfd:{} (deleted)", kName);
  for (fs::directory_iterator at(fmt::format("/proc/{}/fd", process), error), end; !error && at != end;
       at.increment(error)) {
    std::error_code gone;
    if (fs::read_symlink(at->path(), gone) != wanted || gone) continue;
    ProgressPage page{process, std::atoi(at->path().filename().c_str()), 0};
    const UniqueFd file = open_page(page, O_RDONLY);
    const std::optional<Image> image = file ? read_image(file.get()) : std::nullopt;
    if (!image) continue;
    page.token = image->token;
    return page;
  }
  return {};
}

}  // namespace mtfc
