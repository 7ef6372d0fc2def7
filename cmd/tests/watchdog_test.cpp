// Runs whose ranks hang, as people see them.

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/wait.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>

#include "cmd/testing/running_command.h"
#include "core/testing/scratch_folder.h"
#include "core/testing/text.h"

namespace mtfc::watchdog_test {
namespace {

const std::string kMnist = std::string(MTFC_SOURCE_DIR) + "/models/mnist.json";

int shell(const std::string& command) {
  const int status = std::system(fmt::format("MTFC='{}'; {} </dev/null", MTFC_BINARY, command).c_str());
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

}  // namespace
}  // namespace mtfc::watchdog_test
