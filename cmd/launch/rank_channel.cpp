#include "cmd/launch/rank_channel.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "core/diagnostics/error.h"
#include "runtime/processes/job.h"

namespace mtfc {
namespace {

constexpr const char* kVariable = "MTFC_OUTPUT";  // process:descriptor:descriptor:descriptor

}  // namespace

Pipe::Pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw RunError(fmt::format("can't make a pipe: {}", std::strerror(errno)));
  out = UniqueFd(ends[0]);
  in = UniqueFd(ends[1]);
  fcntl(out.get(), F_SETFL, O_NONBLOCK);
}

RankChannel::RankChannel() {
  setenv(kVariable, fmt::format("{}:{}:{}:{}", getpid(), out.in.get(), err.in.get(), code.in.get()).c_str(),
         1);
}

std::optional<int> RankChannel::told_code() const {
  char byte = 0;
  if (read(code.out.get(), &byte, 1) != 1) return std::nullopt;
  return static_cast<unsigned char>(byte);
}

void use_rank_channel() {
  const char* place = std::getenv(kVariable);
  int process = 0, out = -1, err = -1, code = -1;
  if (!place || !is_rank_of_job() || std::sscanf(place, "%d:%d:%d:%d", &process, &out, &err, &code) != 4)
    return;
  const auto opened = [&](int theirs) {
    return UniqueFd(open(fmt::format("/proc/{}/fd/{}", process, theirs).c_str(), O_WRONLY | O_CLOEXEC));
  };
  for (const auto& [own, theirs] : {std::pair(STDOUT_FILENO, out), {STDERR_FILENO, err}})
    if (const UniqueFd file = opened(theirs); file) dup2(file.get(), own);
  static UniqueFd& codes = *new UniqueFd(opened(code));  // until the process ends
  if (codes) set_code_channel(codes.get());
}

}  // namespace mtfc
