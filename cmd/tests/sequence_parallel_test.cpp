// Sequence parallelism is a layout, and a gather within the parts of a table needs no other devices.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "cmd/testing/command_results.h"
#include "cmd/testing/shell.h"
#include "core/testing/scratch_folder.h"

namespace mtfc::sequence_parallel_test {
namespace {

using Json = nlohmann::json;

const std::string kSmall =
    "--set layers=2 --set d_model=32 --set d_ff=64 --set heads=4 --set d_kv=8 --set vocab=48 --set length=16";

}  // namespace

TEST_CASE("a sequence that is split between attention and feed-forward takes less memory for no more bytes") {
  const std::string sizes =
      "--set layers=2 --set batch=4 --set length=256 --set d_model=512 --set d_ff=2048 --set heads=8 --set "
      "vocab=512 ";
  const Json whole =
      report_of("transformer_lm.json",
                sizes + "--mesh model:4 --layout heads:model,d_ff:model,vocab:model --propagate");
  const Json split =
      report_of("transformer_lm.json", sizes + "--mesh model:4 --layout layouts/sequence_parallel.json");
  const auto activations = [](const Json& report) {
    return report["memory"]["activations_at_peak"].get<double>();
  };
  CHECK(activations(split) < 0.85 * activations(whole));
  const auto sent = [](const Json& report) {
    return report["communication"]["bytes_sent_per_device"].get<double>();
  };
  CHECK(sent(split) <= 1.01 * sent(whole));
  const Json& kinds = split["communication"]["by_kind"];
  CHECK(kinds["all_gather"]["count"].get<int>() >= 8);  // before each part of a layer, forward and backward
  CHECK(kinds["reduce_scatter"]["count"].get<int>() >= 4);
}

TEST_CASE("a variable that the backward pass gathers again is split there as a rule splits it") {
  const ScratchFolder folder;
  std::ofstream(folder / "layout.json") << R"({
    "mesh": [["model", 4]], "rules": [["heads", "model"], ["d_ff", "model"]], "propagate": true,
    "shardings": {"position/y": {"length": "model"}, "layer_*/self/y": {"length": "model"},
                  "layer_*/ffn/y": {"length": "model"}},
    "regather": "**/attention/wo"
  })";
  REQUIRE(outcome_in_models(fmt::format(
              "$MTFC compile transformer_lm.json {} --set batch=64 -q --layout '{}' --emit json -o '{}'",
              kSmall, folder / "layout.json", folder / "program.json")) == "exit 0: ");
  // Gathering these weights is cheaper than gathering the activations. What the forward pass gathers is not kept.
  std::set<std::string> forward, backward;
  const Json program = Json::parse(folder.read("program.json"));
  for (const Json& entry : program["entry_points"])
    for (const Json& step : entry["steps"])
      for (const Json& id : step.value("inputs", Json::array())) {
        const std::string name = entry["values"][id.get<size_t>()]["name"];
        if (name.find("/attention/wo") == std::string::npos || !name.ends_with("@whole")) continue;
        if (entry["name"] == "train") (step["phase"] == "backward" ? backward : forward).insert(name);
      }
  CHECK(forward ==
        std::set<std::string>{"layer_0/self/attention/wo@whole", "layer_1/self/attention/wo@whole"});
  CHECK(backward == std::set<std::string>{"layer_0/self/attention/wo/again@whole",
                                          "layer_1/self/attention/wo/again@whole"});
}

TEST_CASE("a variable is gathered again for each microbatch where a plan is chosen") {
  const ScratchFolder folder;
  const auto layout = [&](const char* name, const char* regather) {
    std::ofstream(folder / name) << fmt::format(R"({{
      "mesh": [["rows", 4]], "rules": [["batch", "rows"]], "shard_state_over": "rows", "shard_variables": true,
      {}"propagate": true
    }})",
                                                regather);
    return folder / name;
  };
  const std::string kept = layout("kept.json", ""), again = layout("again.json", R"("regather": "**", )");
  const auto peak = [&](const std::string& file) {
    return report_of("transformer_lm.json",
                     "--microbatches 4 --set layers=4 --set d_model=256 --set d_ff=1024 --set heads=4 --set "
                     "batch=32 --layout '" +
                         file + "'")["memory"]["peak_bytes_per_device"]
        .get<double>();
  };
  CHECK(peak(again) < 0.8 * peak(kept));
  const std::string run = "transformer_lm.json --microbatches 2 " + kSmall + " --dtype f64 --set dropout=0.1";
  const std::vector<double> expected = losses_of(run),
                            found = losses_of(run + " --simulate --layout '" + again + "'");
  REQUIRE(found.size() == expected.size());
  for (size_t i = 0; i < found.size(); ++i) CHECK(std::abs(found[i] - expected[i]) < 1e-9);
}

TEST_CASE("training with a split sequence is that of one device") {
  const std::vector<double> expected =
      losses_of("transformer_lm.json " + kSmall + " --dtype f64 --set dropout=0.1");
  for (const char* mesh : {"model:2", "model:4", "model:3"}) {
    CAPTURE(mesh);
    const std::vector<double> found = losses_of(
        fmt::format("transformer_lm.json {} --dtype f64 --set dropout=0.1 --simulate --mesh {} --layout "
                    "layouts/sequence_parallel.json",
                    kSmall, mesh));
    REQUIRE(found.size() == expected.size());
    for (size_t i = 0; i < found.size(); ++i) CHECK(std::abs(found[i] - expected[i]) < 1e-9);
  }
}

TEST_CASE("a gather within the parts of a table, the example of GShard's section 3.3, sends nothing") {
  const ScratchFolder folder;
  const std::string model = folder / "model.json";
  std::ofstream(model) << R"({
    "mtfc": 1,
    "dims": {"parts": 8, "rows": 50, "wanted": 20, "depth": 16},
    "inputs": {"indices": {"dims": ["parts", "wanted"], "dtype": "i32"}},
    "variables": {"table": {"dims": ["parts", "rows", "depth"], "init": {"normal": 1}}},
    "ops": [
      {"out": "found", "op": "gather", "in": ["table", "indices"], "dim": "rows"},
      {"out": "loss", "op": "reduce_mean", "in": {"op": "square", "in": "found"}}
    ],
    "train": {"loss": "loss", "optimizer": {"kind": "sgd", "lr": 1}},
    "outputs": ["loss", "found"],
    "data": {"indices": "random:int,hi=rows"}
  })";
  for (const char* layout : {"--mesh all:4 --layout parts:all", "--mesh all:4 --layout parts:all --propagate",
                             "--mesh all:3 --layout parts:all"}) {
    CAPTURE(layout);
    const Json report = report_of("'" + model + "'", layout);
    CHECK(report["communication"]["by_kind"].size() == 1);  // the sum of the losses
    CHECK(report["communication"]["elements_per_device"] == 1);
    CHECK(outcome_in_models(fmt::format("$MTFC verify '{}' {}", model, layout))
              .starts_with("exit 0: the same as on one device: "));
  }
}

}  // namespace mtfc::sequence_parallel_test
