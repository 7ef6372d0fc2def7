#include "cmd/files/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "cmd/terminal/interrupt.h"
#include "cmd/terminal/standard_output.h"
#include "cmd/terminal/work_watch.h"
#include "core/diagnostics/error.h"
#include "formats/json/mapped_file.h"
#include "runtime/processes/unique_fd.h"

namespace mtfc {
namespace {

// The bytes that a text may have. A regular file says before it is read how many it has; anything else may never end.
constexpr int64_t kMostInFile = int64_t{1} << 30, kMostInPipe = int64_t{1} << 28;

// Reads to the end, or one byte more than `most`. Returns the system's reason for a failure, or 0.
int read_all(int file, int64_t most, std::string& text) {
  constexpr int64_t kBlock = 1 << 20;
  for (int64_t size = 0; size <= most;) {
    const int64_t block = std::min(kBlock, most + 1 - size);
    text.resize(static_cast<size_t>(size + block));
    const ssize_t got = read(file, text.data() + size, static_cast<size_t>(block));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno;
    text.resize(static_cast<size_t>(size += got));
    if (got == 0) break;
  }
  return 0;
}

// The name of a file in messages: `the model 'm.json'`.
std::string shown_name(const std::string& path, const std::string& what) {
  return "the " + what + (path == "-" ? " from standard input" : " '" + path + "'");
}

// The regular files of which a command reads some and writes others, by device and inode, whatever their names are.
using FileIdentity = std::pair<dev_t, ino_t>;
std::set<FileIdentity>& read_files() {
  static std::set<FileIdentity> files;
  return files;
}
std::set<FileIdentity>& written_files() {
  static std::set<FileIdentity> files;
  return files;
}

[[noreturn]] void refuse_to_replace(const std::string& path) {
  throw UserError("'" + path + "' is read, so it can't be written", "name another file");
}

void note_read(const struct stat& facts, const std::string& path) {
  if (!S_ISREG(facts.st_mode)) return;
  if (written_files().contains({facts.st_dev, facts.st_ino})) refuse_to_replace(path);
  read_files().emplace(facts.st_dev, facts.st_ino);
}

// A file that does not exist yet is none that is read.
void note_written(const std::string& path) {
  struct stat facts = {};
  if (stat(path.c_str(), &facts) != 0 || !S_ISREG(facts.st_mode)) return;
  if (read_files().contains({facts.st_dev, facts.st_ino})) refuse_to_replace(path);
  written_files().emplace(facts.st_dev, facts.st_ino);
}

std::string read_open(int file, const std::string& path, const std::string& what) {
  struct stat facts = {};
  std::string text;
  if (fstat(file, &facts) == 0 && S_ISDIR(facts.st_mode))
    throw UserError("cannot read " + shown_name(path, what) + ": it is a folder");
  const int64_t most = S_ISREG(facts.st_mode) ? kMostInFile : kMostInPipe;
  const bool is_long = S_ISREG(facts.st_mode) && facts.st_size > most;
  if (const int reason = is_long ? 0 : read_all(file, most, text))
    throw UserError("cannot read " + shown_name(path, what) + ": " + std::strerror(reason));
  if (is_long || static_cast<int64_t>(text.size()) > most)
    throw UserError(fmt::format("{} is longer than {} MiB, the most that mtfc reads from {}",
                                shown_name(path, what), most >> 20,
                                S_ISREG(facts.st_mode) ? "a file" : "a pipe or a device"));
  note_read(facts, path);
  return text;
}

UniqueFd open_text(const std::string& path, const std::string& what, int flags) {
  UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | flags));
  if (!file)
    throw UserError("cannot read " + shown_name(path, what) + ": " + std::strerror(errno),
                    similar_file(path));
  return file;
}

[[noreturn]] void fail(const std::string& path) {
  throw RunError("cannot write '" + path + "': " + std::strerror(errno));
}

}  // namespace

int write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return 0;
}

FileTarget usable_target(const std::string& path) {
  FileTarget target = file_target(path);
  if (target.reason == 0) return target;
  errno = target.reason;
  fail(path);
}

std::string read_text(const std::string& path, const std::string& what) {
  if (path == "-") return read_open(STDIN_FILENO, path, what);
  return read_open(open_text(path, what, 0).get(), path, what);
}

std::string read_regular_text(const std::string& path, const std::string& what) {
  // Opening a pipe without O_NONBLOCK would wait for its writer.
  const UniqueFd file = open_text(path, what, O_NONBLOCK);
  struct stat facts = {};
  if (fstat(file.get(), &facts) == 0 && !S_ISREG(facts.st_mode) && !S_ISDIR(facts.st_mode))
    throw UserError("cannot read " + shown_name(path, what) + ": it is not a regular file");
  return read_open(file.get(), path, what);
}

void require_writable(const std::string& path) {
  if (path.empty() || path == "-") return;
  note_written(path);
  const FileTarget target = usable_target(path);
  // A file is replaced by renaming, which its folder must permit.
  const std::string folder = std::filesystem::path(target.path).parent_path().string();
  const std::string written = !target.replaced ? target.path : folder.empty() ? "." : folder;
  std::error_code error;
  if (std::filesystem::is_directory(path, error))
    errno = EISDIR;
  else if (access(written.c_str(), W_OK) == 0)
    return;
  fail(path);
}

void forget_files() {
  read_files().clear();
  written_files().clear();
}

void require_unread(const std::string& path, const std::vector<std::string>& read) {
  std::error_code error;
  for (const std::string& other : read)
    if (std::filesystem::equivalent(path, other, error)) refuse_to_replace(path);
}

void write_text(const std::string& path, const std::string& text) {
  write_pieces(path, [&](const TextSink& sink) { sink(text); });
}

void write_pieces(const std::string& path, const std::function<void(const TextSink&)>& make) {
  if (path == "-") {
    WorkWatch::make_way();
    make([](std::string_view text) { std::cout << text; });
    return flush_standard_output();
  }
  note_written(path);
  const FileTarget target = usable_target(path);
  const std::string written = target.replaced ? temporary_name(target.path) : target.path;
  std::optional<UnfinishedFile> unfinished;
  if (target.replaced) unfinished.emplace(written);
  const int flags = target.replaced ? kNewFile : O_WRONLY | O_CREAT | O_TRUNC;
  UniqueFd file(open(written.c_str(), flags | O_CLOEXEC, 0666));
  if (!file) fail(path);
  try {
    make([&](std::string_view text) {
      if (write_all(file.get(), text) != 0) fail(path);
    });
    if (target.replaced && fsync(file.get()) != 0) fail(path);
  } catch (...) {
    if (target.replaced) unlink(written.c_str());
    throw;
  }
  file.reset();
  if (target.replaced && std::rename(written.c_str(), target.path.c_str()) != 0) {
    const int reason = errno;
    unlink(written.c_str());
    errno = reason;
    fail(path);
  }
}

void require_writable_folder(const std::string& folder) {
  std::error_code error;
  std::filesystem::path place = std::filesystem::absolute(folder, error);
  while (!error && place.has_relative_path() && !std::filesystem::exists(place, error) && !error)
    place = place.parent_path();
  int reason = error ? error.value() : 0;
  if (reason == 0 && !std::filesystem::is_directory(place, error)) reason = ENOTDIR;
  if (reason == 0 && access(place.c_str(), W_OK | X_OK) != 0) reason = errno;
  if (reason != 0) throw RunError(fmt::format("cannot write '{}': {}", folder, std::strerror(reason)));
}

}  // namespace mtfc
