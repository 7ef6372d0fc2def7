#include "runtime/processes/shared_files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>
#include <vector>

namespace mtfc {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFolder = "/dev/shm";
// The beginnings of the names that MPICH and UCX choose.
constexpr const char* kNames[] = {"mpich_shar_tmp", "ucx_shm_posix_"};
// A process of another program may be between making a file and mapping it.
constexpr time_t kLeastAge = 2;
// Removing takes milliseconds; who can't wait goes on without the lock.
constexpr std::chrono::milliseconds kLockPatience{500};

bool is_left_by_mpi(const fs::path& path) {
  const std::string name = path.filename();
  struct stat facts = {};
  return std::any_of(std::begin(kNames), std::end(kNames),
                     [&](const char* begin) { return name.starts_with(begin); }) &&
         lstat(path.c_str(), &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_uid == geteuid() &&
         std::time(nullptr) - std::max(facts.st_mtime, facts.st_ctime) >= kLeastAge;
}

std::vector<fs::path> candidates(const std::string& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    if (is_left_by_mpi(at->path())) found.push_back(at->path());
  return found;
}

// Removes from `paths` those that a process has mapped or open.
void leave_used(std::set<std::string>& paths) {
  std::error_code error;
  for (fs::directory_iterator at("/proc", error), end; !error && at != end && !paths.empty();
       at.increment(error)) {
    const std::string name = at->path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::ifstream maps(at->path() / "maps");
    for (std::string line; std::getline(maps, line);)
      if (const size_t slash = line.find('/'); slash != std::string::npos) paths.erase(line.substr(slash));
    std::error_code closed;
    for (fs::directory_iterator file(at->path() / "fd", closed), last; !closed && file != last;
         file.increment(closed)) {
      std::error_code gone;
      paths.erase(fs::read_symlink(file->path(), gone).string());
    }
  }
}

}  // namespace

MakesSharedFiles::MakesSharedFiles() : folder_(open(kFolder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  const auto end = std::chrono::steady_clock::now() + kLockPatience;
  while (folder_ && flock(folder_.get(), LOCK_SH | LOCK_NB) != 0 && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

int remove_left_files(const std::string& folder) {
  std::set<std::string> unused;
  for (const fs::path& path : candidates(folder)) unused.insert(path);
  if (unused.empty()) return 0;
  const UniqueFd lock(open(kFolder, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!lock || flock(lock.get(), LOCK_EX | LOCK_NB) != 0) return 0;
  leave_used(unused);
  int removed = 0;
  for (const std::string& path : unused) removed += unlink(path.c_str()) == 0;
  return removed;
}

}  // namespace mtfc
