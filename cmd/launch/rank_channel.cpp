#include "cmd/launch/rank_channel.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include "cmd/launch/host_lines.h"
#include "core/diagnostics/error.h"
#include "runtime/processes/job.h"

namespace mtfc {
namespace {

constexpr const char* kVariable = "MTFC_OUTPUT";  // process:descriptor:descriptor:descriptor:place

// Names this start of this machine, and the processes that see each other there; ranks of other hosts or containers
// inherit the variable, where the same numbers may be of other processes.
std::string own_place() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  struct stat numbering = {};
  if (stat("/proc/self/ns/pid", &numbering) != 0) return boot;
  return fmt::format("{}/{}", boot, numbering.st_ino);
}

}  // namespace

Pipe::Pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw RunError(fmt::format("can't make a pipe: {}", std::strerror(errno)));
  out = UniqueFd(ends[0]);
  in = UniqueFd(ends[1]);
  fcntl(out.get(), F_SETFL, O_NONBLOCK);
}

RankChannel::RankChannel() {
  setenv(
      kVariable,
      fmt::format("{}:{}:{}:{}:{}", getpid(), out.in.get(), err.in.get(), code.in.get(), own_place()).c_str(),
      1);
}

std::optional<int> RankChannel::told_code() const {
  char byte = 0;
  if (read(code.out.get(), &byte, 1) != 1) return std::nullopt;
  return static_cast<unsigned char>(byte);
}

void use_rank_channel() {
  const char* place = std::getenv(kVariable);
  int process = 0, out = -1, err = -1, code = -1, length = 0;
  if (!place || !is_rank_of_job() ||
      std::sscanf(place, "%d:%d:%d:%d:%n", &process, &out, &err, &code, &length) != 4 || length == 0)
    return;
  if (own_place() != place + length) {
    tell_code_by_line();
    return connect_to_supervisor();
  }
  const auto opened = [&](int theirs) {
    return UniqueFd(open(fmt::format("/proc/{}/fd/{}", process, theirs).c_str(), O_WRONLY | O_CLOEXEC));
  };
  for (const auto& [own, theirs] : {std::pair(STDOUT_FILENO, out), {STDERR_FILENO, err}})
    if (const UniqueFd file = opened(theirs); file) dup2(file.get(), own);
  static UniqueFd& codes = *new UniqueFd(opened(code));  // until the process ends
  if (codes) set_code_channel(codes.get());
}

}  // namespace mtfc
