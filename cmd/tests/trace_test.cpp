// Timelines and times of whole runs: alone, in lockstep, and on ranks.

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/wait.h>

#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/testing/checkout.h"
#include "core/testing/scratch_folder.h"

namespace mtfc::trace_test {
namespace {

using Json = nlohmann::json;

const std::string kMnist = std::string(kSourceFolder) + "/models/mnist.json";
constexpr double kRounding = 0.0011;  // microseconds: times are written to the nanosecond

int shell(const std::string& command) {
  const int status = std::system(fmt::format("MTFC='{}'; {} </dev/null", kTestedProgram, command).c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// The steps of each entry point of the program for `layout`, with their names in a trace.
std::map<std::string, std::vector<std::string>> labels(const ScratchFolder& folder, const std::string& model,
                                                       const std::string& layout) {
  REQUIRE(shell(fmt::format("$MTFC compile {} {} --emit json -o {}", model, layout, folder / "program")) ==
          0);
  std::map<std::string, std::vector<std::string>> found;
  const Json program = Json::parse(contents(folder / "program"));
  for (const Json& entry : program["entry_points"])
    for (const Json& step : entry["steps"]) {
      const std::string kind = step["kind"], name = step["name"];
      std::string what = kind;
      if (kind == "kernel") what = step["op"];
      if (kind == "start") what = fmt::format("start {}", step["collective"].get<std::string>());
      if (kind == "wait")
        what = fmt::format("wait {}",
                           entry["steps"][step["started"].get<size_t>()]["collective"].get<std::string>());
      found[entry["name"]].push_back(what + " " + name);
    }
  return found;
}

double end_of(const Json& event) {
  return event["ts"].get<double>() + event["dur"].get<double>();
}

// Checks the events on one rank's track of steps: runs follow each other, and each holds its steps, one after
// another, with the program's names. Returns the runs' names.
std::vector<std::string> checked_runs(const std::vector<Json>& events,
                                      const std::map<std::string, std::vector<std::string>>& steps) {
  std::vector<std::string> runs;
  double last_end = 0;
  for (size_t i = 0; i < events.size();) {
    const Json& run = events[i++];
    REQUIRE(run["cat"] == "run");
    const std::string name = run["name"];
    runs.push_back(name);
    CHECK(run["ts"].get<double>() >= last_end - kRounding);
    last_end = run["ts"];
    for (const std::string& label : steps.at(name.substr(0, name.find(' ')))) {
      REQUIRE(i < events.size());
      CHECK(events[i]["name"] == label);
      CHECK(events[i]["ts"].get<double>() >= last_end - kRounding);
      CHECK(events[i]["dur"].get<double>() >= 0);
      last_end = end_of(events[i++]);
    }
    CHECK(last_end <= end_of(run) + kRounding);
    last_end = end_of(run);
  }
  return runs;
}

// `run`: the command that starts it. `collectives`: the number in one training step.
void check_trace(const std::string& run, const std::string& layout, int ranks, int collectives) {
  const ScratchFolder folder;
  const std::string model = kMnist + " --set hidden=50";
  INFO(run, layout);
  REQUIRE(shell(fmt::format("{} {} {} -q --steps 7 --trace-steps 3 --trace {}", run, model, layout,
                            folder / "trace")) == 0);
  std::map<int, std::vector<Json>> tracks;
  std::map<int, int> begun, ended;
  std::vector<std::string> processes;
  const Json trace = Json::parse(contents(folder / "trace"));
  for (const Json& event : trace["traceEvents"]) {
    const std::string phase = event["ph"];
    if (event["name"] == "process_name") processes.push_back(event["args"]["name"]);
    if (phase == "X") tracks[event["pid"]].push_back(event);
    if (phase == "b") ++begun[event["pid"]];
    if (phase == "e") ++ended[event["pid"]];
  }
  CHECK(processes.size() == static_cast<size_t>(ranks));
  REQUIRE(tracks.size() == static_cast<size_t>(ranks));
  const auto steps = labels(folder, model, layout);
  for (const auto& [rank, events] : tracks) {
    CHECK(checked_runs(events, steps) ==
          std::vector<std::string>{"init", "train step 5", "train step 6", "train step 7"});
    CHECK(begun[rank] == 3 * collectives);
    CHECK(ended[rank] == begun[rank]);
  }
  CHECK(processes.back() == (ranks == 1 ? "rank 0" : ranks == 2 ? "rank 1 (a=1)" : "rank 3 (a=1,b=1)"));
}

TEST_CASE("a trace holds every step of the last runs, on one device, in lockstep and on ranks") {
  check_trace("$MTFC run", "", 1, 0);
  check_trace("$MTFC run --simulate", "--mesh a:2,b:2 --layout batch:a,hidden:b", 4, 4);
  check_trace("$MTFC run", "--mesh a:2 --layout hidden:a", 2, 1);
  check_trace("mpiexec.mpich -n 2 $MTFC run", "--mesh a:2 --layout batch:a", 2,
              3);  // two of four travel together
}

TEST_CASE("a trace goes to standard output too, and needs a place to go") {
  const ScratchFolder folder;
  REQUIRE(shell(fmt::format("$MTFC run {} -q --steps 2 --trace - >{}", kMnist, folder / "out")) == 0);
  CHECK(Json::parse(contents(folder / "out"))["traceEvents"].size() > 10);
  CHECK(shell(fmt::format("$MTFC run {} -q --trace /nonexistent/t.json 2>{}", kMnist, folder / "err")) == 1);
  CHECK(contents(folder / "err").find("/nonexistent/t.json") != std::string::npos);
  CHECK(shell(fmt::format("$MTFC run {} -q --trace x --trace-steps 0 2>{}", kMnist, folder / "err")) == 2);
}

TEST_CASE("a report tells where the time of a step goes") {
  const ScratchFolder folder;
  REQUIRE(shell(fmt::format("$MTFC run {} -q --steps 50 --mesh a:2 --layout batch:a --threads 1 --report {} "
                            "--metrics {}",
                            kMnist, folder / "report", folder / "log.jsonl")) == 0);
  const Json run = Json::parse(contents(folder / "report"))["run"];
  CHECK(run["ranks"] == 2);
  CHECK(run["ranks_per_node"] == 2);
  CHECK(run["threads_per_rank"] == 1);
  CHECK(run["resident_bytes"].get<int64_t>() > 1 << 20);
  const Json& time = run["time"];
  CHECK(time["runs"] == 49);
  double sum = 0;
  for (const Json& kind : time["by_kind"]) sum += kind["seconds"].get<double>();
  CHECK(sum > 0);
  CHECK(sum + time["input_seconds"].get<double>() <= time["seconds_per_step"].get<double>());
  const Json& sums = time["by_kind"]["all_reduce"];
  CHECK(sums["steps"] == 3);
  CHECK(sums["start_seconds"].get<double>() + sums["wait_seconds"].get<double>() ==
        doctest::Approx(sums["seconds"].get<double>()));
}

}  // namespace
}  // namespace mtfc::trace_test
