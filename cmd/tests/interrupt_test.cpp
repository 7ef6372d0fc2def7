// Signals that end commands, as people and job managers send them: exit codes, the line that says so, checkpoints,
// and that nothing is left.

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "cmd/testing/running_command.h"
#include "cmd/testing/shell.h"
#include "cmd/testing/training_folder.h"
#include "core/testing/checkout.h"
#include "core/testing/scratch_folder.h"
#include "core/testing/text.h"

namespace mtfc::interrupt_test {
namespace {

namespace fs = std::filesystem;

const std::string kMnist = std::string(kSourceFolder) + "/models/mnist.json";
// Its loop runs for as long as 0 is less than 1.
const std::string kEndless =
    R"({"mtfc": 1, "name": "endless", "dims": {"rows": 8}, "inputs": {"x": {"dims": ["rows"]}},
  "data": {"x": "random:normal"},
  "blocks": {
    "more": {"in": ["v", "n"], "out": "yes", "ops": [{"out": "yes", "op": "less", "in": ["n", 1.0]}]},
    "next": {"in": ["v", "n"], "out": ["w", "m"], "ops": [{"out": "w", "op": "mul", "in": ["v", 0.5]},
                                                         {"out": "m", "op": "mul", "in": ["n", 0.5]}]}},
  "ops": [{"out": "n0", "op": "reduce_sum", "in": {"op": "mul", "in": ["x", 0.0]}},
          {"out": ["y", "n"], "op": "while", "cond": "more", "body": "next", "in": ["x", "n0"]}],
  "outputs": ["y"]})";

struct Process {
  pid_t pid = 0, parent = 0;
  char state = 0;
  std::string name;
  double seconds = 0;  // of the cores' time
};

std::vector<Process> processes() {
  std::vector<Process> all;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string number = entry.path().filename();
    if (number.find_first_not_of("0123456789") != std::string::npos) continue;
    const std::string stat = contents(entry.path() / "stat");
    const size_t open = stat.find('('), close = stat.rfind(')');
    if (close == std::string::npos || close + 4 > stat.size()) continue;
    Process one{std::stoi(number), 0, 0, stat.substr(open + 1, close - open - 1)};
    std::istringstream fields(stat.substr(close + 2));
    double passed_over = 0, user = 0, system = 0;
    fields >> one.state >> one.parent;
    for (int i = 0; i < 9; ++i) fields >> passed_over;
    fields >> user >> system;
    one.seconds = (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
    all.push_back(one);
  }
  return all;
}

// The processes below `top`: the launcher, its proxy and the ranks, the ranks last.
std::vector<Process> below(pid_t top) {
  const std::vector<Process> all = processes();
  std::vector<Process> found{{top, 0, 0, ""}};
  for (size_t i = 0; i < found.size(); ++i)
    for (const Process& one : all)
      if (one.parent == found[i].pid) found.push_back(one);
  found.erase(found.begin());
  return found;
}

bool lives(const Process& process) {
  const std::vector<Process> all = processes();
  return std::any_of(all.begin(), all.end(), [&](const Process& one) {
    return one.pid == process.pid && one.name == process.name && one.state != 'Z';
  });
}

// Waits until none of them lives; a busy machine may take longer than the two seconds that people see.
bool all_gone(const std::vector<Process>& left) {
  return eventually([&] { return std::none_of(left.begin(), left.end(), lives); });
}

std::vector<Process> ranks_of(const std::vector<Process>& found) {
  std::vector<Process> ranks;
  for (const Process& one : found)
    if (one.name == "mtfc") ranks.push_back(one);
  return ranks;
}

// The lines that say that a signal has ended the command.
std::vector<std::string> interrupted_lines(const std::string& text) {
  std::vector<std::string> found;
  for (size_t at = 0; (at = text.find("mtfc: interrupted by ", at)) != std::string::npos; ++at)
    found.push_back(text.substr(at, text.find('\n', at) - at));
  return found;
}

const std::string kTraining = "$MTFC run " + kMnist + " --steps 100000000 --metrics log ";

struct Ranks {
  int count;
  std::string training, loop;  // the mesh and layout
};
const Ranks kRanks[] = {{1, "", ""}, {4, "--mesh a:4 --layout batch:a", "--mesh a:4 --layout rows:a"}};

bool has_begun(const ScratchFolder& folder, RunningCommand& run) {
  return eventually([&] { return run.ended() || !folder.read("log").empty(); });
}

// The processes of a command: the one that was started, and those below it.
std::vector<Process> all_of(const RunningCommand& run) {
  std::vector<Process> all = below(run.process());
  for (const Process& one : processes())
    if (one.pid == run.process()) all.push_back(one);
  return all;
}

// All ranks of a loop have been started, and have computed for much longer than it takes them to begin.
bool all_loop(RunningCommand& run, int ranks) {
  const bool found = eventually([&] {
    const std::vector<Process> all = ranks_of(all_of(run));
    const auto computes = [](const Process& rank) { return rank.seconds > 0.3; };
    return run.ended() || std::count_if(all.begin(), all.end(), computes) >= ranks;
  });
  return found && !run.ended();
}

// The command has computed for long enough to be in the middle of its work.
bool is_at_work(RunningCommand& run) {
  const bool found = eventually([&] {
    double seconds = 0;
    for (const Process& one : all_of(run)) seconds += one.seconds;
    return run.ended() || seconds > 0.5;
  });
  return found && !run.ended();
}

}  // namespace

TEST_CASE("a signal ends an endless loop with its code, and says where it was") {
  for (const Ranks& ranks : kRanks)
    for (const int signal : {SIGINT, SIGTERM}) {
      CAPTURE(ranks.count);
      CAPTURE(signal);
      const ScratchFolder folder;
      std::ofstream(folder / "endless.json") << kEndless;
      RunningCommand run(folder, "$MTFC run endless.json -q " + ranks.loop);
      REQUIRE(all_loop(run, ranks.count));
      const std::vector<Process> started = below(run.process());
      const auto sent = std::chrono::steady_clock::now();
      run.send(signal);
      CHECK(run.exit_code() == 128 + signal);
      // A second, unless the machine is busy; without the signal's help, never.
      CHECK(std::chrono::steady_clock::now() - sent < std::chrono::seconds(20));
      const std::vector<std::string> lines = interrupted_lines(folder.read("err"));
      CAPTURE(folder.read("err"));
      REQUIRE(lines.size() == 1);
      CHECK(lines[0].starts_with(
          fmt::format("mtfc: interrupted by {}", signal == SIGINT ? "SIGINT" : "SIGTERM")));
      CHECK(all_gone(started));
    }
}

TEST_CASE("a signal saves a checkpoint, also where it comes twice, and through mpiexec") {
  for (const std::string& command : {kTraining, kTraining + "--mesh a:2 --layout batch:a",
                                     "mpiexec.mpich -n 2 " + kTraining + "--mesh a:2 --layout batch:a"})
    for (const int signal : {SIGINT, SIGTERM}) {
      CAPTURE(command);
      CAPTURE(signal);
      const ScratchFolder folder;
      RunningCommand run(folder, command + " -q --checkpoint ck");
      REQUIRE(has_begun(folder, run));
      const std::vector<Process> started = below(run.process());
      run.send(signal);
      // Ctrl-C that comes again ends mpiexec itself at once.
      if (command.starts_with("$MTFC")) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        run.send(signal);
      }
      CHECK(run.exit_code() == 128 + signal);
      const std::vector<std::string> lines = interrupted_lines(folder.read("err"));
      CAPTURE(folder.read("err"));
      REQUIRE(lines.size() == 1);
      CHECK(has(lines[0], ": stopped after step "));
      CHECK(has(lines[0], " of 100000000; the last checkpoint is 'ck/step_"));
      CHECK(std::distance(fs::directory_iterator(folder / "ck"), {}) == 1);
      CHECK(all_gone(started));
    }
}

TEST_CASE("a run that a signal ends says after which step it last looked at held-out data") {
  const TrainingFolder folder;
  RunningCommand run(
      folder,
      "$MTFC run model.json --input x=x.npy --valid x=x.npy --valid-every 50 --steps 100000000 "
      "--metrics log");
  REQUIRE(eventually([&] { return run.ended() || has(folder.read("log"), "valid/"); }));
  run.send(SIGINT);
  CHECK(run.exit_code() == 128 + SIGINT);
  const std::string out = folder.read("out");
  CAPTURE(out);
  REQUIRE(has(out, "\nvalid/loss ") != has(out, "held-out data at step "));
  const auto number_after = [&](const char* text) {
    return std::stoll(out.substr(out.find(text) + std::strlen(text)));
  };
  REQUIRE(out.starts_with("step "));
  const long long last = number_after("step ");
  if (last % 50 == 0) return;  // it has just looked
  CHECK(number_after("held-out data at step ") == last - last % 50);
  CHECK(has(out, fmt::format("held-out data at step {}: valid/", last - last % 50)));
}

TEST_CASE("SIGUSR1 saves a checkpoint, and the run goes on") {
  for (const Ranks& ranks : kRanks) {
    CAPTURE(ranks.count);
    const ScratchFolder folder;
    RunningCommand run(folder, kTraining + "-q --checkpoint ck " + ranks.training);
    REQUIRE(has_begun(folder, run));
    run.send(SIGUSR1);
    CHECK(eventually([&] { return run.ended() || has(folder.read("err"), "mtfc: saved 'ck/step_"); }));
    // A signal that comes before the next step would end the run with this checkpoint.
    const size_t logged = folder.read("log").size();
    CHECK(eventually([&] { return run.ended() || folder.read("log").size() > logged; }));
    CHECK_FALSE(run.ended());
    run.send(SIGTERM);
    CHECK(run.exit_code() == 143);
    CHECK(std::distance(fs::directory_iterator(folder / "ck"), {}) == 2);
  }
}

TEST_CASE(
    "a signal that comes while a checkpoint is written lets it be completed, and takes no further step") {
  for (const Ranks& ranks : kRanks) {
    CAPTURE(ranks.count);
    const ScratchFolder folder;
    // 256 MiB, which take long to write, and little to train.
    folder.write("model.json", R"({
      "mtfc": 1, "dims": {"batch": 8, "rows": 8192, "columns": 8192},
      "inputs": {"x": {"dims": ["batch"]}}, "data": {"x": "random:normal"},
      "variables": {"large": {"dims": ["rows", "columns"], "init": "ones"}, "w": {"dims": ["batch"], "init": "ones"}},
      "ops": [{"out": "loss", "op": "reduce_sum", "in": {"op": "mul", "in": ["x", "w"]}}],
      "train": {"loss": "loss", "optimizer": {"kind": "sgd", "lr": 0.1}},
      "outputs": ["loss"]
    })");
    RunningCommand run(folder,
                       "$MTFC run model.json -q --steps 1000 --checkpoint ck --every 3 " + ranks.training);
    REQUIRE(eventually([&] { return run.ended() || fs::exists(folder / "ck/step_00000003.part"); }));
    run.send(SIGTERM);
    CHECK(run.exit_code() == 143);
    CHECK(
        has(folder.read("err"), ": stopped after step 3 of 1000; the last checkpoint is 'ck/step_00000003'"));
    CHECK(std::distance(fs::directory_iterator(folder / "ck"), {}) == 1);
  }
}

TEST_CASE("a signal ends ranks that wait for one that is stopped") {
  for (const size_t stopped : {0, 1}) {
    CAPTURE(stopped);
    const ScratchFolder folder;
    RunningCommand run(folder, kTraining + "-q --checkpoint ck --mesh a:4 --layout batch:a");
    REQUIRE(has_begun(folder, run));
    const std::vector<Process> started = below(run.process());
    const std::vector<Process> ranks = ranks_of(started);
    REQUIRE(ranks.size() == 4);
    kill(ranks[stopped].pid, SIGSTOP);
    run.send(SIGINT);
    CHECK(run.exit_code() == 130);
    CAPTURE(folder.read("err"));
    CHECK(interrupted_lines(folder.read("err")).size() == 1);
    CHECK(all_gone(started));
  }
}

TEST_CASE("no process is left where mtfc, mpiexec, its proxy or a rank is killed") {
  for (const std::string& own : {std::string("$MTFC "), std::string("mpiexec.mpich -n 2 $MTFC ")})
    for (const std::string& victim :
         {std::string("top"), std::string("mpiexec"), std::string("hydra"), std::string("mtfc")}) {
      CAPTURE(own);
      CAPTURE(victim);
      const ScratchFolder folder;
      std::ofstream(folder / "endless.json") << kEndless;
      RunningCommand run(folder, own + "run endless.json -q --mesh a:2 --layout rows:a");
      REQUIRE(all_loop(run, 2));
      const std::vector<Process> started = below(run.process());
      pid_t pid = victim == "top" ? run.process() : 0;
      for (const Process& one : started)
        if (one.name.starts_with(victim)) pid = one.pid;
      if (pid == 0) continue;  // mpiexec is the process itself
      kill(pid, SIGKILL);
      CHECK(run.exit_code() != 0);
      CHECK(all_gone(started));
    }
}

TEST_CASE("commands that have nothing to save end at once") {
  for (const std::string& command :
       {std::string("calibrate -o box.json"), std::string("calibrate --mesh a:2 -o box.json"),
        fmt::format("search {}/models/gpt2.json --devices 64 --mesh 'a:*,b:*,c:*'", kSourceFolder),
        fmt::format("verify {}/models/transformer_lm.json --steps 1000000", kSourceFolder),
        fmt::format("generate {}/models/char_lm.json --prompt A --set length=100000 --length 99999",
                    kSourceFolder)}) {
    CAPTURE(command);
    const ScratchFolder folder;
    RunningCommand run(folder, "$MTFC " + command);
    REQUIRE(is_at_work(run));
    const std::vector<Process> started = below(run.process());
    run.send(SIGTERM);
    CHECK(run.exit_code() == 143);
    CAPTURE(folder.read("err"));
    CHECK(interrupted_lines(folder.read("err")).size() == 1);
    CHECK_FALSE(fs::exists(folder / "box.json"));
    CHECK(all_gone(started));
  }
}

TEST_CASE("no checkpoint is lost under timeout, which signals the process and its group") {
  const Outcome outcome =
      outcome_of(fmt::format("'{}/scripts/interrupt_runs.sh' 3 '{}' 1 2>&1", kSourceFolder, kTestedProgram));
  CAPTURE(outcome.text);
  CHECK(outcome.code == 0);
}

TEST_CASE("more ranks than a host can start are refused, and many are warned of") {
  CHECK(has(outcome_in_models("$MTFC run mnist.json --mesh a:100000 --layout batch:a --set batch=100000"),
            "exit 2: mtfc: error: the mesh has 100000 devices, which need a rank each, but this host has "));
}

}  // namespace mtfc::interrupt_test
