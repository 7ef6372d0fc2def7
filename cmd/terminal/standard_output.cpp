#include "cmd/terminal/standard_output.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <iostream>
#include <string>
#include <utility>

#include "core/diagnostics/error.h"

namespace mtfc {
namespace {

// Remembers why an earlier part of the stream could not be written, which the C library forgets.
class WatchedOutput : public std::streambuf {
 public:
  WatchedOutput() { setp(bytes_.data(), bytes_.data() + bytes_.size()); }
  int failure() const { return failure_; }

 protected:
  int overflow(int c) override {
    if (!write_out()) return traits_type::eof();
    if (c != traits_type::eof()) sputc(static_cast<char>(c));
    return 0;
  }
  int sync() override { return write_out() ? 0 : -1; }

 private:
  bool write_out() {
    for (const char* at = pbase(); at < pptr() && failure_ == 0;) {
      const ssize_t written = write(STDOUT_FILENO, at, static_cast<size_t>(pptr() - at));
      if (written >= 0)
        at += written;
      else if (errno != EINTR)
        failure_ = errno;
    }
    setp(bytes_.data(), bytes_.data() + bytes_.size());
    return failure_ == 0;
  }

  std::array<char, 1 << 16> bytes_;
  int failure_ = 0;
};

// Outlives std::cout, which is flushed last of all.
WatchedOutput& output() {
  static WatchedOutput& watched = *new WatchedOutput;
  return watched;
}

}  // namespace

void hold_standard_streams() {
  // A file gets the lowest free number. Writing to one that is open for reading fails.
  for (const auto& [stream, flags] :
       {std::pair(STDIN_FILENO, O_RDONLY), {STDOUT_FILENO, O_RDONLY}, {STDERR_FILENO, O_WRONLY}})
    if (fcntl(stream, F_GETFD) < 0 && open("/dev/null", flags) != stream) _exit(kExitRunFailed);
  std::signal(SIGPIPE, SIG_IGN);
}

void watch_standard_output() {
  std::cout.flush();
  std::cout.rdbuf(&output());
}

void flush_standard_output() {
  std::cout.flush();
  if (output().failure() != 0)
    throw RunError(std::string("cannot write to standard output: ") + std::strerror(output().failure()));
}

}  // namespace mtfc
