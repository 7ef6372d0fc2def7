// Runs whose ranks are on two hosts, which are network namespaces of this machine: they end with the right exit code,
// soon after their work is done.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "cmd/testing/running_command.h"
#include "cmd/testing/shell.h"
#include "core/testing/checkout.h"
#include "core/testing/scratch_folder.h"
#include "core/testing/skip.h"
#include "core/testing/text.h"

namespace mtfc::hosts_test {
namespace {

// Returns whether the script could make hosts, and says so if it could not.
bool had_hosts(const Outcome& outcome) {
  constexpr int kUnavailable = 77;
  if (outcome.code == kUnavailable) skip_without("hosts", outcome.text);
  return outcome.code != kUnavailable;
}

// With `ranks` on each host. A run that hangs is ended, with another code.
Outcome on_two_hosts(int ranks, const std::string& arguments) {
  return outcome_of(fmt::format("cd '{0}/models' && $HANG_GUARD '{0}/scripts/hosts.sh' {1} '{2}' {3} 2>&1",
                                kSourceFolder, ranks, kTestedProgram, arguments));
}

TEST_CASE("runs over two hosts end, after success, after an error and after a signal") {
  const ScratchFolder folder;
  const std::string run = "run mnist.json -q --mesh a:4 --layout batch:a ";
  const Outcome success = on_two_hosts(2, run + "--steps 3");
  if (!had_hosts(success)) return;
  CAPTURE(success.text);
  CHECK(success.code == 0);
  const Outcome failure = on_two_hosts(2, run + "--input images=nowhere.npy");
  CAPTURE(failure.text);
  CHECK(failure.code == 1);
  CHECK(has(failure.text, "nowhere.npy"));
  const Outcome mistake = on_two_hosts(2, run + "--set nothing=1");
  CHECK(mistake.code == 2);
  const std::string checkpoint = folder / "ck";
  const Outcome interrupted =
      outcome_of(fmt::format("cd '{0}/models' && $HANG_GUARD "
                             "'{0}/scripts/hosts.sh' --signal TERM --after '{3}' 2 '{1}' {2} "
                             "--steps 100000000 --checkpoint '{4}' --metrics '{3}' 2>&1",
                             kSourceFolder, kTestedProgram, run, folder / "log", checkpoint));
  CAPTURE(interrupted.text);
  CHECK(interrupted.code == 143);
  CHECK(has(interrupted.text, "mtfc: interrupted by SIGTERM: stopped after step "));
  CHECK(std::filesystem::exists(checkpoint));
}

// The short form of scripts/between_hosts.py, which has all models.
TEST_CASE("two hosts send the bytes that the report predicts, and have the losses of one device") {
  const Outcome outcome = outcome_of(fmt::format(
      "$HANG_GUARD '{0}/scripts/between_hosts.py' --build '{1}' --hosts 2 --only mnist,moe_lm 2>&1",
      kSourceFolder, std::filesystem::path(kTestedProgram).parent_path().string()));
  if (!had_hosts(outcome)) return;
  CAPTURE(outcome.text);
  CHECK(outcome.code == 0);
  CHECK(has(outcome.text, "moe_lm              2 x 2  both"));
}

TEST_CASE("messages between hosts can be delayed") {
  const ScratchFolder folder;
  const Outcome outcome = outcome_of(fmt::format(
      "cd '{0}/models' && $HANG_GUARD '{0}/scripts/hosts.sh' --delay 100ms 1 '{1}' run mnist.json -q "
      "--mesh a:2 --layout batch:a --steps 3 --metrics '{2}' 2>&1",
      kSourceFolder, kTestedProgram, folder / "log"));
  if (!had_hosts(outcome)) return;
  CAPTURE(outcome.text);
  CHECK(outcome.code == 0);
  // The sum of gradients takes a message to the other host and one back.
  std::ifstream log(folder / "log");
  int steps = 0;
  for (std::string line; std::getline(log, line); ++steps)
    CHECK(nlohmann::json::parse(line)["step_time"].get<double>() > 0.2);
  CHECK(steps == 3);
}

// The short form of scripts/break_runs.sh.
TEST_CASE("runs over two hosts that are broken end soon, say why, and go on with the same bits") {
  for (const char* kinds : {"rank,proxy,launcher,disk", "link,host,start"}) {
    const Outcome outcome =
        outcome_of(fmt::format("$HANG_GUARD '{}/scripts/break_runs.sh' --mtfc '{}' --ranks 1 --faults "
                               "3 --seed 5 --only {} 2>&1",
                               kSourceFolder, kTestedProgram, kinds));
    if (!had_hosts(outcome)) return;
    CAPTURE(outcome.text);
    CHECK(outcome.code == 0);
    CHECK(has(outcome.text, "all with the same bits"));
  }
}

TEST_CASE("hosts that start different programs are named before anything is computed") {
  const ScratchFolder folder;
  std::filesystem::copy(kTestedProgram, folder / "mtfc");
  folder.write("start",
               fmt::format("#!/bin/sh\ncase $(hostname) in *-2) program='{}' ;; *) program='{}' ;; esac\n"
                           "exec \"$program\" \"$@\"\n",
                           folder / "mtfc", kTestedProgram));
  std::system(fmt::format("chmod +x '{0}' && echo >>'{1}'", folder / "start", folder / "mtfc").c_str());
  const Outcome outcome = outcome_of(fmt::format(
      "cd '{0}/models' && $HANG_GUARD '{0}/scripts/hosts.sh' 1 '{1}' run mnist.json -q --mesh a:2 "
      "--layout batch:a --steps 3 2>&1",
      kSourceFolder, folder / "start"));
  if (!had_hosts(outcome)) return;
  CAPTURE(outcome.text);
  CHECK(outcome.code == 1);
  CHECK(has(outcome.text, "-2' (rank 1) starts another mtfc than host "));
}

TEST_CASE("a run goes on with fewer ranks if a host can't be reached any more") {
  for (const char* model : {"mnist.json", "-"}) {  // standard input is read again
    CAPTURE(model);
    const ScratchFolder folder;
    const Outcome outcome =
        outcome_of(fmt::format("cd '{0}/models' && cat mnist.json | HYDRA_LAUNCHER=ssh "
                               "HYDRA_LAUNCHER_EXEC=false $HANG_GUARD '{1}' run {3} "
                               "-q --dtype f64 --hosts \"$(hostname):3,nowhere:1\" --mesh a:4 --layout "
                               "batch:a --steps 3 --checkpoint '{2}' "
                               "--restarts 1 2>&1",
                               kSourceFolder, kTestedProgram, folder / "ck", model));
    CAPTURE(outcome.text);
    CHECK(outcome.code == 0);
    CHECK(has(
        outcome.text,
        "mtfc: error: the launcher can't reach host 'nowhere', or has lost its connection to it; the run has "
        "ended\n"));
    CHECK(
        has(outcome.text, "mtfc: restart 1 of 1: host 'nowhere' does not answer, so the mesh is a:3 now\n"));
    CHECK(std::filesystem::exists(folder / "ck/step_00000003"));
  }
}

TEST_CASE("a rank that stops is named by those of another host") {
  const ScratchFolder folder;
  const std::string log = folder / "log";
  Outcome outcome;
  std::atomic<bool> ended = false;
  std::thread run([&] {
    outcome = on_two_hosts(1, fmt::format("run mnist.json -q --mesh a:2 --layout batch:a --steps 100000000 "
                                          "--watchdog 2 --metrics '{}'",
                                          log));
    ended = true;
  });
  pid_t stopped = 0;
  eventually([&] {
    if (!contents(log).empty()) stopped = rank_process(log, 1);
    return stopped != 0 || ended;
  });
  if (stopped != 0) kill(stopped, SIGSTOP);
  run.join();
  if (!had_hosts(outcome)) return;
  REQUIRE(stopped != 0);
  CAPTURE(outcome.text);
  CHECK(outcome.code == 1);
  CHECK(has(outcome.text, "waited 2 s for rank 1, which does not answer (--watchdog"));
}

}  // namespace
}  // namespace mtfc::hosts_test
