#include "cmd/testing/running_command.h"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <thread>

#include "core/testing/checkout.h"
#include "core/testing/text.h"

namespace mtfc {

RunningCommand::RunningCommand(const ScratchFolder& folder, const std::string& command) {
  const std::string line = fmt::format("cd '{}'; MTFC='{}'; exec {} >out 2>err </dev/null",
                                       folder.path.string(), kTestedProgram, command);
  // The output of an earlier command must not be taken for the output of this one.
  std::filesystem::remove(folder / "out");
  std::filesystem::remove(folder / "err");
  process_ = fork();
  REQUIRE(process_ >= 0);
  if (process_ > 0) return;
  execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
  _exit(127);
}

RunningCommand::~RunningCommand() {
  if (ended()) return;
  kill(process_, SIGKILL);
  look(0);
}

void RunningCommand::interrupt() const {
  send(SIGINT);
}

void RunningCommand::send(int signal) const {
  kill(process_, signal);
}

void RunningCommand::pause() const {
  kill(process_, SIGSTOP);
}

void RunningCommand::resume() const {
  kill(process_, SIGCONT);
}

bool RunningCommand::ended() {
  return look(WNOHANG);
}

int RunningCommand::exit_code() {
  look(0);
  return status_ && WIFEXITED(*status_) ? WEXITSTATUS(*status_) : -1;
}

bool RunningCommand::look(int options) {
  int status = 0;
  if (!status_ && waitpid(process_, &status, options) == process_) status_ = status;
  return status_.has_value();
}

bool eventually(const std::function<bool()>& happened) {
  const auto begin = std::chrono::steady_clock::now();
  while (!happened()) {
    if (std::chrono::steady_clock::now() - begin > std::chrono::minutes(2)) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return true;
}

pid_t rank_process(const std::string& word, int rank) {
  namespace fs = std::filesystem;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::error_code error;
    if (fs::read_symlink(entry.path() / "exe", error) != fs::path(kTestedProgram) || error) continue;
    if (has(contents(entry.path() / "cmdline"), word) &&
        has(contents(entry.path() / "environ"), fmt::format("PMI_RANK={}", rank) + '\0'))
      return std::stoi(name);
  }
  return 0;
}

}  // namespace mtfc
