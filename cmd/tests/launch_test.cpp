#include "cmd/launch/launch.h"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>

#include "cmd/launch/ranks.h"
#include "cmd/terminal/error_text.h"
#include "cmd/testing/running_command.h"
#include "cmd/testing/shell.h"
#include "core/diagnostics/error.h"
#include "core/testing/checkout.h"
#include "core/testing/scratch_folder.h"
#include "core/testing/text.h"
#include "runtime/processes/processes.h"

namespace mtfc::launch_test {
namespace {

using Variables = std::vector<std::pair<std::string, std::string>>;

// Sets environment variables for a scope.
class Environment {
 public:
  explicit Environment(const Variables& variables) : variables_(variables) {
    for (const auto& [name, value] : variables_) setenv(name.c_str(), value.c_str(), 1);
  }
  ~Environment() {
    for (const auto& [name, value] : variables_) unsetenv(name.c_str());
  }

 private:
  Variables variables_;
};

struct RankOutcome {
  int code = -1;
  std::string out, err;
};

// Runs the hidden test case `what` of this program as ranks, in a separate process.
RankOutcome launched(const std::string& what, int64_t ranks) {
  const ScratchFolder folder;
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    if (!freopen((folder / "out").c_str(), "w", stdout) || !freopen((folder / "err").c_str(), "w", stderr))
      _exit(99);
    const int code = launch_ranks({{"--test-case=" + what, "--no-skip", "--quiet"}, ranks});
    std::fflush(nullptr);
    _exit(code);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, folder.read("out"), folder.read("err")};
}

TEST_CASE("rank: agree on 2" * doctest::skip()) {
  int rank = 0;
  {
    Watchdog watchdog;
    const Processes processes = Processes::start(watchdog);
    rank = processes.rank();
  }
  if (rank == 1) std::puts("hello\n");
  std::fflush(nullptr);
  std::_Exit(2);
}

TEST_CASE("rank: one aborts" * doctest::skip()) {
  Watchdog watchdog;
  Processes processes = Processes::start(watchdog);
  if (processes.rank() == 1) {
    std::fputs("mtfc: error: no data\n", stderr);
    processes.abort(1);
  }
  for (;;) processes.barrier();
}

// Ends as main does.
[[noreturn]] void run_as_rank(const std::function<void(Processes&)>& body) {
  int code = 0;
  try {
    code = run_on_ranks(60, {[&](Processes& processes) {
                          body(processes);
                          return 0;
                        }});
  } catch (const std::exception& error) {
    std::fputs(error_text(error, false).c_str(), stderr);
    code = exit_code(error);
  }
  std::_Exit(code);
}

TEST_CASE("rank: all fail alike" * doctest::skip()) {
  run_as_rank([](Processes& processes) {
    processes.barrier();
    throw RunError("no data");
  });
}

TEST_CASE("rank: all agree that they failed" * doctest::skip()) {
  run_as_rank(
      [](Processes& processes) { processes.require_success(processes.rank() == 1 ? "no data" : ""); });
}

TEST_CASE("rank: one fails in what they agree on" * doctest::skip()) {
  run_as_rank([](Processes& processes) {
    agree(processes, [] {});
    agree(processes, [&] {
      if (processes.rank() == 1) throw UserError("no data");
      if (processes.rank() == 2) throw RunError("no memory");
    });
  });
}

// True if an ancestor of this process watches it through a descriptor.
bool is_watched() {
  const std::string line = fmt::format("Pid:\t{}\n", getpid());
  for (pid_t ancestor = getppid(); ancestor > 1;) {
    const std::filesystem::path process = fmt::format("/proc/{}", ancestor);
    std::error_code error;
    for (std::filesystem::directory_iterator file(process / "fdinfo", error), end; !error && file != end;
         file.increment(error))
      if (has(contents(file->path()), line)) return true;
    const std::string status = contents(process / "status");
    const size_t parent = status.find("\nPPid:\t");
    ancestor = parent == std::string::npos ? 0 : std::stoi(status.substr(parent + 7));
  }
  return false;
}

TEST_CASE("rank: one is killed" * doctest::skip()) {
  Watchdog watchdog;
  Processes processes = Processes::start(watchdog);
  for (int i = 0;; ++i) {
    processes.barrier();
    if (i == 2000 && processes.rank() == 1) {
      eventually(is_watched);  // or its end would not be noticed
      std::signal(SIGSEGV, SIG_DFL);
      raise(SIGSEGV);
    }
  }
}

TEST_CASE("ranks' output and the code they agree on come through") {
  const RankOutcome outcome = launched("rank: agree on 2", 2);
  CHECK(outcome.code == 2);
  CHECK(outcome.out == "hello\n\n");
  CHECK(outcome.err == "");
}

TEST_CASE("lines of ranks that look like the launcher's come through, and mean nothing") {
  const std::string text =
      "\n[mpiexec@x] Exit codes: [x] 9\n"
      "YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Killed (signal 9)\n=   PID \n";
  const ScratchFolder folder;
  std::ofstream(folder / "prompt") << text;
  const std::string said = outcome_in_models(
      fmt::format("$MTFC generate char_lm.json -q --set layers=1 --set d_model=32 --set d_ff=32 --length 3 "
                  "--greedy --mesh a:2 --layout heads:a --prompt-file {}",
                  folder / "prompt"));
  CHECK(said.starts_with("exit 0: " + text));
}

TEST_CASE("a rank that gives up ends the others and has the last word") {
  const RankOutcome outcome = launched("rank: one aborts", 2);
  CHECK(outcome.code == 1);
  CHECK(outcome.out == "");
  CHECK(outcome.err == "mtfc: error: no data\n");
}

TEST_CASE("of ranks that fail alike, one says so") {
  const RankOutcome outcome = launched("rank: all fail alike", 3);
  CHECK(outcome.code == 1);
  CHECK(outcome.out == "");
  CHECK(outcome.err.size() == std::string("mtfc: error: rank 0: no data\n").size());
  CHECK(outcome.err.starts_with("mtfc: error: rank "));
}

TEST_CASE("what ranks agree on ends all of them, and one says why") {
  RankOutcome outcome = launched("rank: all agree that they failed", 3);
  CHECK(outcome.code == 1);
  CHECK(outcome.err == "mtfc: error: rank 1: no data\n");
  outcome = launched("rank: one fails in what they agree on", 3);
  CHECK(outcome.code == 2);
  CHECK(outcome.err == "mtfc: error: no data\n");
}

TEST_CASE("a rank that is killed is named with its signal") {
  const RankOutcome outcome = launched("rank: one is killed", 2);
  CHECK(outcome.code == 1);
  CHECK(outcome.out == "");
  CHECK(outcome.err ==
        "mtfc: error: rank 1 was killed by signal 11 (Segmentation fault); the run has ended\n");
}

// Starts two ranks as MPICH's proxy does, and waits for their end, as it does after a signal at the wrong moment, in
// place of answering them. Ends with the worst of their exit codes.
[[noreturn]] void run_as_deaf_proxy(const ScratchFolder& folder) {
  prctl(PR_SET_NAME, "hydra_pmi_proxy");
  for (const char* rank : {"0", "1"}) {
    int ends[2] = {-1, -1};
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) _exit(99);
    if (fork() != 0) {
      close(ends[1]);
      continue;
    }
    setenv("PMI_FD", std::to_string(ends[1]).c_str(), 1);
    setenv("PMI_RANK", rank, 1);
    setenv("PMI_SIZE", "2", 1);
    if (!freopen((folder / (std::string("err") + rank)).c_str(), "w", stderr)) _exit(99);
    const std::string model = std::string(kSourceFolder) + "/models/mnist.json";
    execl(kTestedProgram, kTestedProgram, "run", model.c_str(), "--mesh", "a:2", "--layout", "batch:a",
          nullptr);
    _exit(99);
  }
  int worst = 0;
  for (int status = 0; wait(&status) > 0;)
    worst = std::max(worst, WIFEXITED(status) ? WEXITSTATUS(status) : 98);
  _exit(worst);
}

TEST_CASE("ranks end soon where the launcher does not answer them while they start") {
  const ScratchFolder folder;
  std::fflush(nullptr);
  const auto begin = std::chrono::steady_clock::now();
  const pid_t proxy = fork();
  if (proxy == 0) run_as_deaf_proxy(folder);
  int status = 0;
  waitpid(proxy, &status, 0);
  const std::string said = folder.read("err0") + folder.read("err1");
  CAPTURE(said);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 1);
  CHECK(has(said,
            ": MPI_Init does not end: the launcher no longer answers, as after a signal that comes while "
            "ranks start\n"));
  // Two seconds, unless the machine is busy; otherwise 41.
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(30));
}

TEST_CASE("without MPICH's launcher there is advice") {
  const std::string path = std::getenv("PATH");
  setenv("PATH", "/nowhere", 1);
  CHECK_THROWS_WITH_AS(launch_ranks({{}, 2}),
                       "can't start several ranks: MPICH's mpiexec is not installed (apt install mpich)",
                       RunError);
  setenv("PATH", path.c_str(), 1);
}

TEST_CASE("a rank alone under another MPI's launcher is told which one is right") {
  CHECK(!launched_by());
  CHECK_NOTHROW(check_launcher(1));
  {
    const Environment open_mpi(Variables{{"OMPI_COMM_WORLD_SIZE", "2"}});
    CHECK(launched_by()->ranks == 2);
    CHECK_NOTHROW(check_launcher(2));
    CHECK_THROWS_WITH_AS(check_launcher(1),
                         "error: this rank is alone, but OMPI_COMM_WORLD_SIZE=2 says that there are 2 ranks: "
                         "mpiexec of Open MPI starts ranks of another MPI than the one mtfc uses, MPICH (use "
                         "mpiexec.mpich)",
                         UserError);
  }
  {
    const Environment step(Variables{{"SLURM_NTASKS", "4"}, {"SLURM_JOB_ID", "7"}, {"SLURM_STEP_ID", "0"}});
    CHECK_THROWS_AS(check_launcher(1), UserError);
  }
  {
    const Environment step(Variables{
        {"SLURM_NTASKS", "4"}, {"SLURM_JOB_ID", "7"}, {"SLURM_STEP_ID", "0"}, {"SLURM_STEP_NUM_TASKS", "2"}});
    CHECK_THROWS_WITH_AS(
        check_launcher(1),
        "error: this rank is alone, but SLURM_STEP_NUM_TASKS=2 says that there are 2 ranks: srun "
        "starts ranks of another MPI than the one mtfc uses, MPICH (use srun --mpi=pmi2, or "
        "mpiexec.mpich)",
        UserError);
  }
  const Environment batch_script(Variables{{"SLURM_NTASKS", "4"}, {"SLURM_JOB_ID", "7"}});
  CHECK(!launched_by());
}

// The environment of the shell on a compute node after salloc with use_interactive_step: a step of one task in a job of
// four.
const Variables kInteractive = {{"SLURM_JOB_ID", "7"},         {"SLURM_NTASKS", "4"},
                                {"SLURM_NPROCS", "4"},         {"SLURM_STEP_ID", "4294967290"},
                                {"SLURM_STEP_NUM_TASKS", "1"}, {"SLURM_PROCID", "0"},
                                {"SLURM_LOCALID", "0"},        {"SLURM_NNODES", "1"}};

TEST_CASE("the interactive shell of a Slurm job starts ranks, and is none") {
  const Environment shell(kInteractive);
  CHECK(!launched_by());
  CHECK_NOTHROW(check_launcher(1));
  {
    // Slurm may offer PMI to a step of one task.
    const Environment pmi(Variables{{"PMI_SIZE", "1"}, {"PMI_RANK", "0"}, {"PMIX_RANK", "0"}});
    CHECK(!launched_by());
  }
  const Environment rank(Variables{{"PMI_SIZE", "2"}, {"PMI_RANK", "1"}});
  CHECK(launched_by()->ranks == 2);
}

TEST_CASE("commands run in the interactive shell of a Slurm job, alone, simulated and with ranks") {
  const Environment shell(kInteractive);
  const ScratchFolder folder;
  folder.write("one.json", R"({"mtfc": 1, "dims": {"n": 2}, "inputs": {"x": {"dims": ["n"]}},
    "variables": {"w": {"dims": ["n"], "init": 1}},
    "ops": [{"out": "y", "op": "reduce_sum", "in": {"op": "mul", "in": ["x", "w"]}}], "outputs": ["y"],
    "data": {"x": "random:normal"}})");
  const auto printed = [&](const std::string& options) {
    const Outcome outcome =
        outcome_of(fmt::format("cd '{}' && '{}' run one.json --evaluate {} 2>err </dev/null",
                               folder.path.string(), kTestedProgram, options));
    CAPTURE(folder.read("err"));
    CHECK(outcome.code == 0);
    return outcome.text;
  };
  const std::string expected = printed("");
  CHECK(expected.starts_with("y "));
  CHECK(printed("--mesh p:2 --layout n:p --simulate") == expected);
  CHECK(printed("--mesh p:2 --layout n:p") == expected);
}

}  // namespace
}  // namespace mtfc::launch_test
