#include "cmd/files/files.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string_view>

#include "cmd/terminal/interrupt.h"
#include "cmd/terminal/standard_output.h"
#include "core/diagnostics/error.h"
#include "core/diagnostics/suggest.h"
#include "runtime/data/file_target.h"
#include "runtime/processes/unique_fd.h"

namespace mtfc {
namespace {

std::vector<std::string> neighbours(const std::string& path) {
  std::vector<std::string> names;
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder.empty() ? "." : folder, ignored))
    names.push_back((folder / entry.path().filename()).string());
  return names;
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

std::string read_text(const std::string& path, const std::string& what) {
  if (path == "-") return {std::istreambuf_iterator<char>(std::cin), {}};
  std::error_code error;
  if (std::filesystem::is_directory(path, error))
    throw UserError("cannot read the " + what + " '" + path + "': it is a folder");
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  if (file) text << file.rdbuf();
  if (!file)
    throw UserError("cannot read the " + what + " '" + path + "': " + std::strerror(errno ? errno : EIO),
                    did_you_mean(path, neighbours(path)));
  return text.str();
}

void require_writable(const std::string& path) {
  if (path.empty() || path == "-") return;
  const FileTarget target = file_target(path);
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

void write_text(const std::string& path, const std::string& text) {
  write_pieces(path, [&](const TextSink& sink) { sink(text); });
}

void write_pieces(const std::string& path, const std::function<void(const TextSink&)>& make) {
  if (path == "-") {
    make([](std::string_view text) { std::cout << text; });
    return flush_standard_output();
  }
  const FileTarget target = file_target(path);
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

}  // namespace mtfc
