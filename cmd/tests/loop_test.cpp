// Loops of model files, as people run them: alone, in lockstep, on ranks, from saved programs.

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/wait.h>

#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "core/testing/checkout.h"
#include "core/testing/scratch_folder.h"
#include "core/testing/text.h"

namespace mtfc::loop_test {
namespace {

using Json = nlohmann::json;

const std::string kFeedback = std::string(kSourceFolder) + "/testdata/loops/feedback.json";
const std::string kPower = std::string(kSourceFolder) + "/testdata/loops/power.json";
const std::string kNested = std::string(kSourceFolder) + "/testdata/loops/nested.json";

// Returns the output of a command that must succeed, including its messages.
std::string said(const std::string& command) {
  const ScratchFolder folder;
  const int status = std::system(
      fmt::format("MTFC='{}'; {} >'{}' 2>&1 </dev/null", kTestedProgram, command, folder / "out").c_str());
  const std::string text = contents(folder / "out");
  INFO(command << "\n" << text);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  return text;
}

// Returns the lines of a run's --metrics.
std::vector<Json> metrics(const std::string& command) {
  const ScratchFolder folder;
  said(fmt::format("{} --metrics '{}'", command, folder / "log"));
  std::vector<Json> lines;
  std::istringstream text(contents(folder / "log"));
  for (std::string line; std::getline(text, line);) lines.push_back(Json::parse(line));
  return lines;
}

void check_close(const Json& expected, const Json& found) {
  for (const auto& item : expected.items()) {
    const std::string& key = item.key();
    const Json& value = item.value();
    if (key.ends_with("_time") || key.ends_with("_per_second") || key == "mfu") continue;
    CAPTURE(key);
    CHECK(found[key].get<double>() == doctest::Approx(value.get<double>()).epsilon(1e-10));
  }
}

}  // namespace

TEST_CASE(
    "a sum over a split dimension that is fed back three times is the unsplit one, and so is its gradient") {
  const std::string run = kFeedback + " --dtype f64 --steps 3";
  const std::vector<Json> whole = metrics("$MTFC run " + run);
  REQUIRE(whole.size() == 3);
  double start = 0.7, gain = 1.1;
  for (const Json& line : whole) {
    const double total = line["total"], s = start * std::pow(gain * total, 3);
    CHECK(line["s"].get<double>() == doctest::Approx(s).epsilon(1e-10));
    CHECK(line["d_gain"].get<double>() == doctest::Approx(3 * s / gain).epsilon(1e-10));
    CHECK(line["dx_mean"].get<double>() == doctest::Approx(3 * s / total).epsilon(1e-10));
    start -= 0.01 * s / start;
    gain -= 0.01 * 3 * s / gain;
    CHECK(line["start"].get<double>() == doctest::Approx(start).epsilon(1e-10));
    CHECK(line["loop/gain"].get<double>() == doctest::Approx(gain).epsilon(1e-10));
  }
  const std::vector<std::string> split = {
      "$MTFC run --simulate --mesh p:3 --layout batch:p ",
      "$MTFC run --simulate --mesh p:5 --layout batch:p ",
      "$MTFC run --simulate --mesh p:2,q:2 --layout batch:q ",
      "mpiexec.mpich -n 2 $MTFC run --mesh p:2 --layout batch:p ",
      "mpiexec.mpich -n 4 $MTFC run --mesh p:2,q:2 --layout batch:p+q ",
  };
  for (const std::string& command : split) {
    CAPTURE(command);
    const std::vector<Json> found = metrics(command + run);
    REQUIRE(found.size() == whole.size());
    for (size_t i = 0; i < whole.size(); ++i) check_close(whole[i], found[i]);
  }
  for (const char* layout : {"--mesh p:3 --layout batch:p", "--mesh p:2,q:2 --layout batch:p+q"})
    CHECK(has(said(fmt::format("$MTFC verify {} --steps 2 {} --dtype f64", kFeedback, layout)),
              "the same as on one device: "));
}

TEST_CASE("a loop whose condition is a reduced value ends in the same round everywhere") {
  const std::string run = kPower + " --dtype f64 --steps 3";
  const std::vector<Json> whole = metrics("$MTFC run " + run);
  REQUIRE(whole.size() == 3);
  for (const Json& line : whole) {
    CHECK(line["rounds"].get<double>() > 2);
    CHECK(line["change"].get<double>() < 1e-3);
  }
  const ScratchFolder folder;
  const std::string program = folder / "program.json";
  said("$MTFC compile " + kPower + " --dtype f64 --mesh p:2 --layout rows:p -o " + program);
  const std::vector<std::string> split = {
      "$MTFC run --simulate --mesh p:3 --layout batch:p " + run,
      "$MTFC run --simulate --mesh p:2,q:3 --layout batch:p,rows:q " + run,
      "mpiexec.mpich -n 2 $MTFC run --mesh p:2 --layout batch:p " + run,
      "mpiexec.mpich -n 2 $MTFC run --steps 3 " + program,
      "mpiexec.mpich -n 4 $MTFC run --mesh p:2,q:2 --layout batch:p,cols:q " + run,
  };
  for (const std::string& command : split) {
    CAPTURE(command);
    const std::vector<Json> found = metrics(command);
    REQUIRE(found.size() == whole.size());
    for (size_t i = 0; i < whole.size(); ++i) check_close(whole[i], found[i]);
  }
  for (const char* layout : {"--mesh p:5 --layout batch:p", "--mesh p:2,q:3 --layout batch:p,rows:q"})
    CHECK(has(said(fmt::format("$MTFC verify {} {} --dtype f64", kPower, layout)),
              "the same as on one device: "));
}

TEST_CASE("loops nest, with gradients and dropout in them") {
  const std::string run = kNested + " --dtype f64 --steps 2";
  const std::vector<Json> whole = metrics("$MTFC run " + run);
  CHECK(whole.front()["n"] == 9);  // three times three is the first value that is no longer below 8
  check_close(whole.back(),
              metrics("mpiexec.mpich -n 2 $MTFC run --mesh p:2 --layout model:p " + run).back());
  for (const char* layout : {"--mesh p:5 --layout batch:p", "--mesh p:2,q:2 --layout batch:p,model:q"})
    CHECK(has(said(fmt::format("$MTFC verify {} --steps 2 {} --dtype f64", kNested, layout)),
              "the same as on one device: "));
}

TEST_CASE("a report counts one round of a loop whose length is unknown, and says so; a run counts all") {
  const ScratchFolder folder;
  const std::string warning =
      "the loop that makes 'y' runs for as long as its condition holds; one round of it is counted";
  const std::string program = folder / "program.json", report = folder / "report.json";
  said("$MTFC compile " + kPower + " --mesh p:2 --layout batch:p -o " + program);
  for (const std::string& from : {kPower + " --mesh p:2 --layout batch:p", program}) {
    CHECK(has(said("$MTFC cost-report " + from), "mtfc: warning: " + warning + "\n"));
    const Json counted = Json::parse(said("$MTFC cost-report -q " + from + " --format json"));
    CHECK(counted["layouts"][0]["warnings"][0] == warning);
  }
  CHECK_FALSE(has(said("$MTFC cost-report " + kFeedback), "warning"));

  const Json line = metrics("mpiexec.mpich -n 2 $MTFC run " + program + " --report " + report).front();
  const Json both = Json::parse(contents(report));
  // Only the change, on which the devices agree in every iteration, and the sum after the loop communicate.
  CHECK(both["predicted"]["communication"]["count"] == 2);
  CHECK(both["measured"]["communication"]["count"] == line["rounds"].get<int64_t>() + 1);
}

TEST_CASE("a trace has the last round of a loop, and nothing of a loop without rounds") {
  const ScratchFolder folder;
  const auto traced = [&](const std::string& options) {
    said(fmt::format("$MTFC run {} --steps 2 --trace {} {}", kPower, folder / "trace.json", options));
    std::vector<Json> found;
    const Json trace = Json::parse(contents(folder / "trace.json"));
    for (const Json& event : trace["traceEvents"])
      if (event["ph"] == "X") found.push_back(event);
    return found;
  };
  const auto count = [](const std::vector<Json>& events, const std::string& name) {
    int64_t found = 0;
    for (const Json& event : events) found += has(event["name"], name);
    return found;
  };
  const std::vector<Json> events = traced("");
  CHECK(count(events, "einsum power/product") == 2);
  CHECK(count(events, "loop y") == 2);
  for (const Json& event : events) {
    CHECK(event["ts"].get<double>() >= 0);
    if (has(event["name"], "repeat y")) CHECK(event["cat"] == "loop");
  }
  const std::vector<Json> none = traced("--set enough=2");
  CHECK(count(none, "einsum power/product") == 0);
  CHECK(count(none, "loop y") == 2);
}

}  // namespace mtfc::loop_test
