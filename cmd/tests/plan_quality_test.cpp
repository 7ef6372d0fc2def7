// The plans that are chosen for bundled models: never dearer than the rules alone, proved to be the best, and with
// --hardware never predicted to be slower.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cmd/testing/command_results.h"
#include "cmd/testing/shell.h"
#include "core/testing/checkout.h"
#include "core/testing/scratch_folder.h"
#include "core/testing/text.h"

namespace mtfc::plan_quality_test {
namespace {

using Json = nlohmann::json;

// The report of a command, or nothing where the layout does not fit the model, which is a mistake of the user.
Json report_of(const std::string& command) {
  const Outcome made = outcome_here("cost-report --quiet --format json " + command);
  if (made.code == 2) return Json();
  REQUIRE(made.code == 0);
  return Json::parse(made.text)["layouts"][0];
}

int64_t counted_cost(const Json& report) {
  const Json& sent = report["communication"];
  const int64_t collectives = sent["count"].get<int64_t>() + sent["joined"].get<int64_t>();
  return sent["bytes_sent_per_device"].get<int64_t>() + 32 * 1024 * collectives +
         report["flops"]["einsum_per_device"].get<int64_t>() / 16;
}

std::vector<std::string> files_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(kSourceFolder) + "/models/" + folder))
    if (entry.path().extension() == ".json") names.push_back(folder + entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

const char* const kAnnotations = R"({"mesh": [["rows", 16], ["cols", 32]], "rules": [["batch", "rows"]],
  "shardings": {"embedding/table": {"vocab": "cols"}, "output/table": {"vocab": "cols"},
                "layer_*/**/wq": {"heads": "cols"}, "layer_*/**/wi": {"d_ff": "cols"}},
  "propagate": true})";

}  // namespace

TEST_CASE(
    "for every bundled model and layout, the plan is proved to be the best, and costs no more than the "
    "rules") {
  int pairs = 0;
  for (const std::string& model : files_in(""))
    for (const std::string& layout : files_in("layouts/")) {
      CAPTURE(model);
      CAPTURE(layout);
      // The twelve layers of gpt2 are alike, and three take a quarter of the time.
      const std::string command =
          fmt::format("{}{} --layout {}", model, model == "gpt2.json" ? " --set layers=3" : "", layout);
      const Json rules = report_of(command);
      if (rules.is_null()) continue;
      ++pairs;
      const Json chosen = report_of(command + " --propagate");
      REQUIRE(!chosen.is_null());
      // If all weights of a mixture of experts are sharded, the tables of the choice are too large and have to be
      // split.
      const bool is_split = model == "moe_encdec.json" && layout.starts_with("layouts/zero_");
      CHECK(chosen["plan"]["gap"] <= (is_split ? 2e-4 : 0));
      CHECK(chosen["plan"]["cost"] == counted_cost(chosen));
      CHECK(counted_cost(chosen) <= counted_cost(rules));
    }
  CHECK(pairs >= 29);
}

TEST_CASE("the largest model of Mesh-TensorFlow, annotated, sends and takes no more than by rules") {
  const ScratchFolder folder;
  const std::string sizes =
      "transformer_lm.json --set d_model=1024 --set d_ff=262144 --set heads=256 --set d_kv=256 --set "
      "vocab=32768 "
      "--set batch=512 --set length=256 --set layers=6 --hardware tpu-v2 ";
  const Json annotated = report_of(sizes + "--layout " + folder.write("layout.json", kAnnotations));
  const Json rules =
      report_of(sizes + "--mesh rows:16,cols:32 --layout batch:rows,vocab:cols,d_ff:cols,heads:cols");
  REQUIRE(!annotated.is_null());
  REQUIRE(!rules.is_null());
  CHECK(annotated["time"]["step_s"] <= 0.5195);
  // The plan by rules is chosen by predicted seconds, too.
  CHECK(annotated["time"]["step_s"] <= 1.001 * rules["time"]["step_s"].get<double>());
  const auto bytes = [](const Json& report) {
    return report["communication"]["bytes_sent_per_device"].get<double>();
  };
  CHECK(bytes(annotated) <= 1.01 * bytes(rules));
  CHECK(annotated["flops"]["duplication"] < 1.00001);
}

TEST_CASE("a plan that is chosen for some hardware is predicted to be no slower than that of least cost") {
  const ScratchFolder folder;
  int faster = 0;
  for (const char* model : {"mnist.json", "char_lm.json", "byte_mlp.json", "transformer_encdec.json"})
    for (const char* hardware : {"tpu-v2", "local"})
      for (const char* planned : {"", "--propagate "}) {
        CAPTURE(model);
        CAPTURE(hardware);
        CAPTURE(planned);
        const std::string layout = fmt::format(" --layout layouts/data_parallel.json {}", planned),
                          saved = folder / "p.json";
        REQUIRE(outcome_here(fmt::format("compile --quiet {}{}-o {}", model, layout, saved)).code == 0);
        const Json least_cost = report_of(fmt::format("{} --hardware {}", saved, hardware));
        REQUIRE(outcome_here(
                    fmt::format("compile --quiet {}{}--hardware {} -o {}", model, layout, hardware, saved))
                    .code == 0);
        const Json shortest = report_of(fmt::format("{} --hardware {}", saved, hardware));
        CHECK(shortest["time"]["step_s"] <= least_cost["time"]["step_s"]);
        faster += shortest["time"]["step_s"] < least_cost["time"]["step_s"];
        // compile, cost-report and run choose the same plan.
        CHECK(report_of(fmt::format("{}{}--hardware {}", model, layout, hardware))["time"] ==
              shortest["time"]);
      }
  CHECK(faster > 0);
}

TEST_CASE("many small sums are not sent in two collectives each to save bytes") {
  const Json report = report_of("transformer_lm.json --mesh x:4,y:2 --layout batch:x --hardware local");
  CHECK(report["time"]["step_s"] <= 0.0782);
  CHECK(report["communication"]["by_kind"]["all_reduce"]["count"] > 20);
}

TEST_CASE("a run for some hardware runs the plan that was chosen for it, on every rank") {
  const ScratchFolder folder;
  const std::string command = fmt::format(
      "$MTFC run mnist.json --layout layouts/data_parallel.json --propagate --hardware tpu-v2 --steps 2 "
      "--report {}",
      folder / "report.json");
  const std::string loss = "step 2  loss 2.3";
  CHECK(has(outcome_in_models(command), loss));
  const Json predicted = Json::parse(folder.read("report.json"))["predicted"];
  CHECK(predicted["plan"]["hardware"] == "tpu-v2");
  CHECK(has(
      outcome_in_models("($MTFC run mnist.json --hardware - --propagate --layout layouts/data_parallel.json "
                        "--steps 2 <hardware/tpu-v2.json)"),
      loss));
  const std::string saved = folder / "p.json";
  outcome_in_models("$MTFC compile mnist.json -o " + saved);
  // A saved program keeps its plan; its MFU is of the profile's peak.
  CHECK(has(outcome_in_models(fmt::format("$MTFC run {} --hardware tpu-v2 --steps 2", saved)), loss));
}

}  // namespace mtfc::plan_quality_test
