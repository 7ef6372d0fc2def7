// Runs whose ranks hang, as people see them.

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>

#include "cmd/testing/running_command.h"
#include "core/testing/checkout.h"
#include "core/testing/scratch_folder.h"
#include "core/testing/text.h"

namespace mtfc::watchdog_test {
namespace {

const std::string kMnist = std::string(kSourceFolder) + "/models/mnist.json";

int shell(const std::string& command) {
  const int status = std::system(fmt::format("MTFC='{}'; {} </dev/null", kTestedProgram, command).c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// Stops rank 1 of a run with three ranks, once `is_time`, and returns what the run says.
std::string said_with_a_stopped_rank(const std::string& options,
                                     const std::function<bool(const std::string& metrics)>& is_time) {
  const ScratchFolder folder;
  const std::string metrics = folder / "metrics";
  int code = -1;
  std::thread run([&] {
    code = shell(fmt::format(
        "$MTFC run {} -q --steps 1000000 --mesh a:3 --layout batch:a --watchdog 1 --metrics {} {} 2>{}",
        kMnist, metrics, options, folder / "err"));
  });
  pid_t stopped = 0;
  eventually([&] {
    stopped = rank_process(metrics, 1);
    return stopped != 0 && is_time(metrics);
  });
  if (stopped != 0) kill(stopped, SIGSTOP);
  const auto start = std::chrono::steady_clock::now();
  run.join();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  REQUIRE(stopped != 0);
  CHECK(code == 1);
  CHECK(seconds < 60);  // all steps would take an hour
  return contents(folder / "err");
}

TEST_CASE("a rank that stops is named by those that wait for it, and the run ends") {
  for (const char* options : {"", "--shared-memory 0"}) {
    CAPTURE(options);
    const std::string said = said_with_a_stopped_rank(
        options, [](const std::string& metrics) { return !contents(metrics).empty(); });
    INFO(said);
    CHECK(has(said, "waited 1 s for rank 1, which is "));
    CHECK(has(said, "(--watchdog sets how long to wait)"));
    CHECK(has(said, "step"));
    CHECK_FALSE(has(said, "rank 2, which"));
    CHECK_FALSE(has(said, "rank 0, which"));
  }
}

TEST_CASE("a rank that stops while MPI starts is named too") {
  const std::string said = said_with_a_stopped_rank("", [](const std::string&) { return true; });
  INFO(said);
  CHECK(has(said, ": waited 1 s in MPI_"));
  CHECK(has(said, " for rank 1 (process "));
  CHECK(has(said, " is stopped) (--watchdog sets how long to wait)\n"));
}

// Becomes rank `rank` of two, whose launcher holds the other end of a socket and never answers.
[[noreturn]] void become_unanswered_rank(int rank, const char* limit, const std::string& err) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0 || !freopen(err.c_str(), "a", stderr)) _exit(99);
  setenv("PMI_FD", std::to_string(ends[0]).c_str(), 1);
  setenv("PMI_RANK", std::to_string(rank).c_str(), 1);
  setenv("PMI_SIZE", "2", 1);
  execl(kTestedProgram, "mtfc", "run", kMnist.c_str(), "-q", "--mesh", "a:2", "--layout", "batch:a",
        "--watchdog", limit, nullptr);
  _exit(99);
}

TEST_CASE("ranks end where the launcher does not answer them, and one of them says so") {
  // A rank that has started later also gives up later, when the other one has said it.
  struct Start {
    std::chrono::seconds later;
    const char* limit;  // of the watchdog
  };
  for (const Start& start : {Start{std::chrono::seconds(0), "1"}, Start{std::chrono::seconds(1), "3"}}) {
    CAPTURE(start.limit);
    const ScratchFolder folder;
    const std::string err = folder / "err";
    const pid_t launcher = fork();
    if (launcher == 0) {
      for (const int rank : {0, 1}) {
        if (fork() == 0) become_unanswered_rank(rank, start.limit, err);
        std::this_thread::sleep_for(start.later);
      }
      int status = 0, worst = 0;
      while (wait(&status) > 0) worst = std::max(worst, WIFEXITED(status) ? WEXITSTATUS(status) : 98);
      _exit(worst);
    }
    int status = 0;
    REQUIRE(waitpid(launcher, &status, 0) == launcher);
    CHECK(WEXITSTATUS(status) == 1);
    CHECK(
        contents(err) ==
        "mtfc: error: rank 0: MPI_Init does not end, though all ranks are here: the launcher does not answer "
        "them\n");
  }
}

}  // namespace
}  // namespace mtfc::watchdog_test
