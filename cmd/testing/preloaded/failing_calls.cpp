// A library for LD_PRELOAD that makes one system call fail: the N-th one of a process that changes, opens or maps a
// file in a folder. scripts/fail_calls.sh walks through all N.
//
//   MTFC_FAIL_FOLDER   the folder, as an absolute path without links
//   MTFC_FAIL_NUMBER   N, counted from 1
//   MTFC_FAIL_RANK     the rank that counts; without it, every process does
//   MTFC_FAIL_LOG      a file that gets a line for the call that has failed

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

template <typename Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

// The path of an open descriptor, or "".
std::string path_of(int descriptor) {
  char path[PATH_MAX];
  const ssize_t length = readlink(("/proc/self/fd/" + std::to_string(descriptor)).c_str(), path, sizeof path);
  return length > 0 ? std::string(path, static_cast<size_t>(length)) : "";
}

std::string absolute(const char* path, int folder = AT_FDCWD) {
  if (path[0] == '/') return path;
  char here[PATH_MAX] = "";
  const std::string base = folder != AT_FDCWD ? path_of(folder) : getcwd(here, sizeof here) ? here : "";
  return base + "/" + path;
}

bool counts() {
  const char* rank = std::getenv("MTFC_FAIL_RANK");
  const char* own = std::getenv("PMI_RANK");
  return !rank || (own && std::strcmp(rank, own) == 0);
}

// Returns whether this call on `path` is the one to fail, and sets errno to `reason` if so.
bool fails(const char* call, const std::string& path, int reason) {
  static std::atomic<long> calls = 0;
  const char* folder = std::getenv("MTFC_FAIL_FOLDER");
  const char* number = std::getenv("MTFC_FAIL_NUMBER");
  if (!folder || !number || !path.starts_with(folder) || !counts()) return false;
  if (++calls != std::atol(number)) return false;
  if (const char* log = std::getenv("MTFC_FAIL_LOG")) {
    if (std::FILE* file = std::fopen(log, "a")) {
      std::fprintf(file, "%s %s: %s\n", call, path.c_str(), strerrorname_np(reason));
      std::fclose(file);
    }
  }
  errno = reason;
  return true;
}

int opened(const char* name, int folder, const char* path, int flags, mode_t mode) {
  const bool writes = (flags & O_ACCMODE) != O_RDONLY;
  if (fails(name, absolute(path, folder), writes ? ENOSPC : EIO)) return -1;
  return next<int(int, const char*, int, ...)>("openat")(folder, path, flags, mode);
}

mode_t mode_in(int flags, va_list arguments) {
  return flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, mode_t) : 0;
}

}  // namespace

// The definitions of the C library have exception specifications and attributes of their own.
extern "C" {

int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_in(flags, arguments);
  va_end(arguments);
  return opened("open", AT_FDCWD, path, flags, mode);
}
int open64(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_in(flags, arguments);
  va_end(arguments);
  return opened("open", AT_FDCWD, path, flags, mode);
}
int openat(int folder, const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_in(flags, arguments);
  va_end(arguments);
  return opened("openat", folder, path, flags, mode);
}
int openat64(int folder, const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_in(flags, arguments);
  va_end(arguments);
  return opened("openat", folder, path, flags, mode);
}

ssize_t write(int file, const void* data, size_t bytes) {
  if (fails("write", path_of(file), ENOSPC)) return -1;
  return next<ssize_t(int, const void*, size_t)>("write")(file, data, bytes);
}
ssize_t pwrite(int file, const void* data, size_t bytes, off_t offset) {
  if (fails("pwrite", path_of(file), ENOSPC)) return -1;
  return next<ssize_t(int, const void*, size_t, off_t)>("pwrite")(file, data, bytes, offset);
}
ssize_t pwrite64(int file, const void* data, size_t bytes, off64_t offset) {
  return pwrite(file, data, bytes, offset);
}
int fsync(int file) {
  if (fails("fsync", path_of(file), EIO)) return -1;
  return next<int(int)>("fsync")(file);
}
int fallocate(int file, int mode, off_t offset, off_t bytes) {
  if (fails("fallocate", path_of(file), ENOSPC)) return -1;
  return next<int(int, int, off_t, off_t)>("fallocate")(file, mode, offset, bytes);
}
int fallocate64(int file, int mode, off64_t offset, off64_t bytes) {
  return fallocate(file, mode, offset, bytes);
}
int ftruncate(int file, off_t bytes) noexcept {
  if (fails("ftruncate", path_of(file), EIO)) return -1;
  return next<int(int, off_t)>("ftruncate")(file, bytes);
}
int ftruncate64(int file, off64_t bytes) noexcept {
  return ftruncate(file, bytes);
}

int mkdir(const char* path, mode_t mode) noexcept {
  if (fails("mkdir", absolute(path), ENOSPC)) return -1;
  return next<int(const char*, mode_t)>("mkdir")(path, mode);
}
int rename(const char* from, const char* to) noexcept {
  if (fails("rename", absolute(from), EIO)) return -1;
  return next<int(const char*, const char*)>("rename")(from, to);
}
int unlink(const char* path) noexcept {
  if (fails("unlink", absolute(path), EIO)) return -1;
  return next<int(const char*)>("unlink")(path);
}
int rmdir(const char* path) noexcept {
  if (fails("rmdir", absolute(path), EIO)) return -1;
  return next<int(const char*)>("rmdir")(path);
}
int unlinkat(int folder, const char* path, int flags) noexcept {
  if (fails("unlinkat", absolute(path, folder), EIO)) return -1;
  return next<int(int, const char*, int)>("unlinkat")(folder, path, flags);
}
int remove(const char* path) noexcept {
  if (fails("remove", absolute(path), EIO)) return -1;
  return next<int(const char*)>("remove")(path);
}

void* mmap(void* address, size_t bytes, int protection, int flags, int file, off_t offset) noexcept {
  if (file >= 0 && fails("mmap", path_of(file), ENOMEM)) return MAP_FAILED;
  return next<void*(void*, size_t, int, int, int, off_t)>("mmap")(address, bytes, protection, flags, file,
                                                                  offset);
}
void* mmap64(void* address, size_t bytes, int protection, int flags, int file, off64_t offset) noexcept {
  return mmap(address, bytes, protection, flags, file, offset);
}

}  // extern "C"
