// Compares the measurements of `run --report` with the predictions: counts exactly, memory nearly, and times
// side by side.

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "cmd/testing/shell.h"
#include "core/testing/checkout.h"
#include "core/testing/scratch_folder.h"

namespace mtfc::run_report_test {
namespace {

using Json = nlohmann::json;

const std::string kModels = std::string(kSourceFolder) + "/models/";

// Returns `exit N: ` and the run's standard error.
std::string said(const ScratchFolder& folder, const std::string& arguments) {
  const int status = std::system(
      fmt::format("cd '{}'; '{}' run {} -q 2>err </dev/null", folder.path.string(), kTestedProgram, arguments)
          .c_str());
  return fmt::format("exit {}: {}", WIFEXITED(status) ? WEXITSTATUS(status) : -1, folder.read("err"));
}

Json report_of(const std::string& arguments) {
  const ScratchFolder folder;
  REQUIRE(said(folder, arguments + " --report report") == "exit 0: ");
  return Json::parse(folder.read("report"));
}

// `initial_peak`: the memory that initial values need at their peak, where that may be more than training needs.
void check_counts(const Json& report, int64_t initial_peak = 0) {
  Json predicted = report["predicted"];
  const Json& measured = report["measured"];
  predicted["communication"].erase("between_nodes");  // a run does not count it
  for (const char* key : {"flops", "communication", "memory", "parameters", "tensors"})
    CHECK(predicted[key] == measured[key]);
  REQUIRE(predicted["steps"].size() == measured["steps"].size());
  for (size_t s = 0; s < predicted["steps"].size(); ++s) CHECK(predicted["steps"][s] == measured["steps"][s]);
  const auto arena = report["run"]["arena_bytes_per_device"].get<int64_t>(),
             peak = predicted["memory"]["peak_bytes_per_device"].get<int64_t>();
  CHECK(arena == std::max(peak, initial_peak));
}

int64_t initial_peak_of(const std::string& use) {
  const ScratchFolder folder;
  REQUIRE(outcome_in_models("$MTFC cost-report " + use + " --entry init -q -o '" + (folder / "init.json") +
                            "'") == "exit 0: ");
  return Json::parse(folder.read("init.json"))["layouts"][0]["memory"]["peak_bytes_per_device"]
      .get<int64_t>();
}

// Compares the largest rank with the plan: at most 10 % and 50 MB more, for the program itself and its
// libraries.
void check_resident(const Json& report) {
  const double plan = report["predicted"]["memory"]["peak_bytes_per_device"],
               resident = report["run"]["resident_bytes"];
  CHECK(resident <= 1.1 * plan + 50e6);
}

struct Case {
  const char* model;
  std::string sets;
  std::vector<std::string> layouts;  // files in models/layouts/
};
const std::vector<std::string> kLayers = {"data_parallel", "model_parallel", "both"};
const std::vector<std::string> kTransformers = {"data_parallel", "transformer_model_parallel",
                                                "transformer_both"};
const std::string kSmall = " --set layers=1 --set d_model=20 --set d_ff=31 --set heads=3 --set length=11";
// Several of the sizes are not divisible by 2.
const std::vector<Case> kCases = {
    {"two_layer", " --set batch=13 --set io=7 --set hidden=33", kLayers},
    {"mnist", " --set batch=9 --set hidden=35", kLayers},
    {"byte_mlp",
     " --set batch=9 --set d_ff=35",
     {"data_parallel", "byte_mlp_model_parallel", "byte_mlp_both"}},
    {"char_lm", kSmall, kTransformers},
    {"transformer_lm", kSmall + " --set vocab=53", kTransformers},
    {"transformer_encdec", kSmall + " --set vocab=53", kTransformers},
    {"gpt2", " --set layers=1 --set d_model=24 --set heads=3 --set positions=18 --set vocab=53",
     kTransformers}};

}  // namespace

TEST_CASE("runs of the bundled models count what was predicted, under the bundled layouts") {
  for (const Case& c : kCases)
    for (const std::string& layout : c.layouts) {
      const std::string dtype = layout == c.layouts.back() ? "bf16" : "f32";
      INFO(c.model << " " << layout << " " << dtype);
      const std::string use = fmt::format("{1}.json{2} --layout {0}layouts/{3}.json --dtype {4}", kModels,
                                          c.model, c.sets, layout, dtype);
      const Json report = report_of(kModels + use);
      check_counts(report, initial_peak_of(use));
      check_resident(report);
      CHECK(report["run"]["ranks"] == report["predicted"]["devices"]);
    }
}

TEST_CASE("tiny steps use one thread, unless the user says otherwise") {
  unsetenv("OMP_NUM_THREADS");  // which would say it, too
  const auto threads = [](const std::string& arguments) {
    return report_of(kModels + "mnist.json " + arguments)["run"]["threads_per_rank"].get<int>();
  };
  CHECK(threads("--set batch=16 --set hidden=64") == 1);
  CHECK(threads("--set batch=16 --set hidden=64 --threads 2") == 2);
  const int cores = threads("--set batch=256 --set hidden=256");
  CHECK((cores > 1 || std::thread::hardware_concurrency() == 1));
}

TEST_CASE("a run takes the memory that was planned, and little more") {
  // 270 MB on one device, most of them for two matrices and their gradients.
  const std::string large = kModels + "two_layer.json --set batch=8 --set io=2048 --set hidden=8192 ";
  for (const char* layout :
       {"", "--mesh a:2 --layout batch:a", "--mesh a:2,b:2 --layout batch:a,hidden:b --shared-memory 0"}) {
    INFO(layout);
    const Json report = report_of(large + "--steps 2 " + layout);
    check_counts(report);
    check_resident(report);
    // The plan is fully used, so the measurement is the memory of a run.
    CHECK(report["run"]["resident_bytes"].get<double>() >=
          0.9 * report["predicted"]["memory"]["peak_bytes_per_device"].get<double>());
  }
}

TEST_CASE("a report for some hardware has predicted times beside the measured") {
  const std::string model = kModels + "mnist.json --set hidden=64 --steps 3 ";
  CHECK_FALSE(report_of(model)["predicted"].contains("time"));
  for (const char* layout : {"", "--mesh a:2 --layout batch:a"}) {
    INFO(layout);
    const Json report = report_of(model + layout + " --hardware ethernet-cluster");
    CHECK(report["predicted"]["time"]["hardware"] == "ethernet-cluster");
    const Json& time = report["run"]["time"];
    const double predicted = report["predicted"]["time"]["step_s"];
    CHECK(predicted > 0);
    CHECK(time["predicted_seconds_per_step"] == predicted);
    double kinds = 0, steps = 0;
    for (const Json& kind : time["by_kind"]) kinds += kind["predicted_seconds"].get<double>();
    for (const Json& step : time["steps"]) steps += step["predicted_seconds"].get<double>();
    CHECK(kinds == doctest::Approx(predicted));
    CHECK(steps == doctest::Approx(predicted));
  }
}

TEST_CASE("a profile that can't predict a run is refused before it starts") {
  const ScratchFolder folder;
  const std::string model = kModels + "mnist.json ";
  CHECK(said(folder, model + "--report r --hardware locale") ==
        "exit 2: mtfc: error: there is no hardware profile 'locale' (did you mean 'local'?)\n");
  folder.write("rows.json", R"({"name": "box", "flops": {"f32": 1e9}, "memory_bytes": 1e9,
      "memory_bandwidth": 1e9, "axes": {"rows": {"latency_s": 1e-6, "bytes_per_s": 1e9}}})");
  for (const char* launcher : {"--mesh a:2 --layout batch:a", "--mesh a:2 --layout batch:a --simulate"}) {
    const std::string refused =
        said(folder, fmt::format("{} {} --report r --hardware rows.json --output w1=w1", model, launcher));
    CHECK(refused.starts_with("exit 2: mtfc: error: "));
    CHECK(refused.find("'a'") != std::string::npos);
  }
  CHECK(folder.read("r").empty());
  CHECK_FALSE(std::filesystem::exists(folder / "w1"));
}

}  // namespace mtfc::run_report_test
