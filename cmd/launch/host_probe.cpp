#include "cmd/launch/host_probe.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <string>
#include <thread>

#include "cmd/launch/launch.h"
#include "runtime/processes/job.h"

namespace mtfc {
namespace {

constexpr std::chrono::seconds kPatience{10};
// As long as no host answers, nothing can go on, and they are asked again: this machine may only be busy.
constexpr std::chrono::seconds kLongPatience{40};
constexpr std::chrono::seconds kBetweenProbes{1};
constexpr std::chrono::milliseconds kLook{20};
// At a time: each takes a process of the launcher and one of a remote shell.
constexpr size_t kMostAtOnce = 64;

// Starts the launcher with a program that does nothing; -1 if there can't be one more process.
pid_t start_probe(const std::string& launcher, const std::string& host) {
  const pid_t process = fork();
  if (process != 0) return process;
  setpgid(0, 0);  // it ends together with what it has started
  const int nothing = open("/dev/null", O_RDWR);
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(nothing, stream);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  execl(launcher.c_str(), launcher.c_str(), "-hosts", host.c_str(), "-n", "1", "true", nullptr);
  _exit(127);
}

// The launcher waits without end for a remote shell that has failed.
bool shell_has_failed(pid_t probe) {
  const std::vector<pid_t> shells = children_of(probe);
  return std::any_of(shells.begin(), shells.end(), has_failed);
}

void end_probe(pid_t probe) {
  kill(-probe, SIGKILL);
  waitpid(probe, nullptr, 0);
}

std::vector<bool> asked_once(const std::vector<Host>& hosts) {
  std::vector<bool> answers(hosts.size(), false);
  const std::string launcher = find_launcher();
  for (size_t begin = 0; begin < hosts.size(); begin += kMostAtOnce) {
    const size_t end = std::min(hosts.size(), begin + kMostAtOnce);
    std::vector<pid_t> probes;
    for (size_t i = begin; i < end; ++i) probes.push_back(start_probe(launcher, hosts[i].name));
    const auto until = std::chrono::steady_clock::now() + kPatience;
    const auto is_over = [&] { return std::chrono::steady_clock::now() > until || pending_interrupt() != 0; };
    for (bool are_left = true; are_left && !is_over();) {
      are_left = false;
      for (size_t i = begin; i < end; ++i) {
        pid_t& probe = probes[i - begin];
        int status = 0;
        if (probe <= 0) continue;
        if (waitpid(probe, &status, WNOHANG) == probe) {
          answers[i] = WIFEXITED(status) && WEXITSTATUS(status) == 0;
          probe = 0;
        } else if (shell_has_failed(probe)) {
          end_probe(probe);
          probe = 0;
        } else {
          are_left = true;
        }
      }
      std::this_thread::sleep_for(kLook);
    }
    for (const pid_t probe : probes)
      if (probe > 0) end_probe(probe);
  }
  return answers;
}

}  // namespace

std::vector<bool> which_answer(const std::vector<Host>& hosts) {
  const auto until = std::chrono::steady_clock::now() + kLongPatience;
  std::vector<bool> answers = asked_once(hosts);
  while (!hosts.empty() && std::none_of(answers.begin(), answers.end(), [](bool is) { return is; }) &&
         pending_interrupt() == 0 && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(kBetweenProbes);
    answers = asked_once(hosts);
  }
  return answers;
}

}  // namespace mtfc
