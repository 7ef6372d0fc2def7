// cost-report over several layouts: sweeps, rankings, impossible layouts, and its formats; and the effect of
// device_order on a run.

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "cmd/testing/shell.h"
#include "core/testing/scratch_folder.h"
#include "core/testing/text.h"

namespace mtfc::cost_report_test {
namespace {

using Json = nlohmann::json;

}  // namespace

TEST_CASE("a mesh with open sizes is tried in every way") {
  const std::string sweep =
      "$MTFC cost-report mnist.json --devices 6 --mesh 'rows:*,cols:*' --layout "
      "batch:rows,hidden:cols ";
  const std::string table = outcome_in_models(sweep);
  CHECK(table.starts_with("exit 0: mnist, train: 4 layouts, "));
  CHECK(has(table, "\nlayout batch:rows,hidden:cols\n"));
  const Json reports = Json::parse(outcome_in_models(sweep + "--format json").substr(8));
  REQUIRE(reports.size() == 4);
  CHECK(reports[2]["mesh"].dump() == R"([["rows",3],["cols",2]])");
  CHECK(outcome_in_models("$MTFC cost-report mnist.json --devices 6 --layout batch:a") ==
        "exit 2: mtfc: error: --devices needs a mesh (as in --mesh rows:*,cols:*)\n");
  CHECK(outcome_in_models("$MTFC cost-report mnist.json --mesh 'a:*'") ==
        "exit 2: mtfc: error: the mesh a:* leaves sizes open (set the number of devices with --devices N)\n");
}

TEST_CASE("a layout that is not legal has its reason in a comparison, and is an error alone") {
  const std::string mesh = "$MTFC cost-report mnist.json --mesh a:2 --layout batch:a,hidden:a ";
  CHECK(outcome_in_models(mesh).starts_with(
      "exit 2: mnist.json:16:38: error: /ops/0/in: the rules batch:a and hidden:a "));
  const std::string both = outcome_in_models(mesh + "--layout batch:a");
  CHECK(both.starts_with("exit 0: mnist, train: 2 layouts, "));
  CHECK(has(both, "[1] batch:a,hidden:a\n         not possible: the rules batch:a and hidden:a split"));
  const Json reports = Json::parse(outcome_in_models(mesh + "--layout batch:a --format json").substr(8));
  CHECK(reports[0]["not_possible"].get<std::string>().starts_with("the rules batch:a and hidden:a split"));
  CHECK(reports[1]["devices"] == 2);
  // A dimension that the model does not have is a mistake in any case.
  CHECK(outcome_in_models(mesh + "--layout bathc:a")
            .starts_with("exit 2: --layout:1:1: error: the model has no dimension"));
}

TEST_CASE("the parts of the memory at the peak add up to it") {
  for (const char* model :
       {"two_layer.json --set batch=3 --set io=5 --set hidden=7", "mnist.json", "char_lm.json --entry decode",
        "byte_mlp.json --mesh a:2 --layout batch:a", "transformer_lm.json --set layers=2 --entry evaluate"}) {
    CAPTURE(model);
    const std::string command = fmt::format("$MTFC cost-report {} ", model);
    const Json memory = Json::parse(outcome_in_models(command + "--format json").substr(8))["memory"];
    int64_t together = 0;
    for (const char* part : {"variables", "optimizer_state", "caches", "inputs", "activations_at_peak",
                             "gradients", "workspace", "alignment_and_gaps"}) {
      CHECK(memory[part].get<int64_t>() >= 0);
      together += memory[part].get<int64_t>();
    }
    CHECK(together == memory["peak_bytes_per_device"].get<int64_t>());
    CHECK(has(outcome_in_models(command), "\n  alignment and gaps "));
    const std::string csv = outcome_in_models(command + "--format csv");
    CHECK(has(csv, fmt::format(",{},", memory["alignment_and_gaps"].get<int64_t>())));
    const ScratchFolder folder;
    CHECK(outcome_in_models(command + "-o " + folder / "r.html") == "exit 0: ");
    CHECK(has(contents(folder / "r.html"), fmt::format("<td>together</td><td data-v=\"{}\">", together)));
  }
}

TEST_CASE("variables of a group are counted apart") {
  const std::string command =
      "$MTFC cost-report moe_lm.json --mesh a:2 --layout batch:a,experts:a --propagate --set d_model=16 "
      "--set d_ff=24 "
      "--set experts=6 --set layers=2 --set vocab=64 ";
  const Json report = Json::parse(outcome_in_models(command + "--format json").substr(8));
  constexpr int64_t kWeights = 6 * 2 * 16 * 24, kBytes = 4 * kWeights / 2;
  CHECK(report["parameters"]["groups"]["experts"] == kWeights);
  CHECK(report["memory"]["groups"]["experts"]["variables"] == kBytes);
  CHECK(report["memory"]["groups"]["experts"]["optimizer_state"] == 2 * kBytes);
  const std::string table = outcome_in_models(command);
  CHECK(has(table, "    of which experts              9.00 KiB\n"));
  CHECK(has(table, "    of which experts              18.0 KiB\n"));
  const ScratchFolder folder;
  CHECK(outcome_in_models(command + "-o " + folder / "r.html") == "exit 0: ");
  const std::string page = contents(folder / "r.html");
  CHECK(has(page, fmt::format("<td>variables of experts</td><td data-v=\"{}\">", kBytes)));
  CHECK(has(page, "variables and state of experts"));
  // Programs keep the group.
  CHECK(outcome_in_models("$MTFC compile moe_lm.json --set layers=2 -o " + folder / "program.json") ==
        "exit 0: ");
  CHECK(has(contents(folder / "program.json"), "\"group\": \"experts\""));
}

TEST_CASE("the time of each part of a model is shown beside the least at peak rates") {
  const std::string command =
      "$MTFC cost-report transformer_lm.json -q --mesh a:2 --layout batch:a --set layers=3 --hardware tpu-v2 ";
  const std::string table = outcome_in_models(command + "--parts 2");
  CHECK(has(table, "\ntime by part\n  part "));
  CHECK(has(table, "\n  layer_*/ffn "));
  CHECK(has(table, "\n  layer_*/self "));
  CHECK_FALSE(has(table, "layer_0/ffn "));
  CHECK_FALSE(has(outcome_in_models(command), "time by part"));
  CHECK(outcome_in_models(command + "--parts 2 --format json")
            .starts_with("exit 2: mtfc: error: --parts is for tables and pages"));
  const ScratchFolder folder;
  CHECK(outcome_in_models(command + "-o " + folder / "r.html") == "exit 0: ");
  CHECK(has(contents(folder / "r.html"), "<tr><td>layer_*/ffn"));
}

// GShard, table 1: 600, 200, 150 and 12.5 billion, of which experts have all but the dense part.
TEST_CASE("the paper's mixtures of experts have the paper's numbers of weights") {
  struct Size {
    int64_t experts, layers, weights;  // layers: of the encoder, and of the decoder
  };
  for (const Size& size : {Size{2048, 18, 618475290624},
                           {2048, 6, 206158430208},
                           {512, 18, 154618822656},
                           {128, 6, 12884901888}}) {
    CAPTURE(size.experts);
    const Json found =
        Json::parse(outcome_in_models(
                        fmt::format("$MTFC cost-report moe_encdec.json --format json --set experts={} --set "
                                    "layers={} --set d_model=1024 --set d_ff=8192 --set heads=16 --set "
                                    "d_kv=128 --set vocab=32768",
                                    size.experts, size.layers))
                        .substr(8))["parameters"];
    CHECK(found["groups"]["experts"] == size.weights);
    const double dense = static_cast<double>(found["count"].get<int64_t>() - size.weights);
    CHECK(dense > 0.1e9);
    CHECK(dense < 1.0e9);
  }
}

TEST_CASE("formats follow the name of the file") {
  const ScratchFolder folder;
  const std::string report = "$MTFC cost-report mnist.json --mesh a:2 --layout batch:a -o ";
  CHECK(outcome_in_models(report + folder / "r.html") == "exit 0: ");
  CHECK(contents(folder / "r.html").starts_with("<!doctype html>"));
  CHECK(outcome_in_models(report + folder / "r.csv") == "exit 0: ");
  CHECK(contents(folder / "r.csv").starts_with("number,model,"));
  CHECK(outcome_in_models(report + folder / "r") == "exit 0: ");
  CHECK(Json::parse(contents(folder / "r"))["devices"] == 2);
  CHECK(outcome_in_models(report + "- --format json --top 3") ==
        "exit 2: mtfc: error: --top is for tables; the JSON has every step (leave out --top, or --format "
        "json)\n");
}

TEST_CASE("a device order moves ranks and leaves numbers as they are") {
  const ScratchFolder folder;
  std::ofstream(folder / "order.json") << R"({"mesh": {"rows": 2, "cols": 2},
    "rules": [["batch", "rows"], ["hidden", "cols"]], "device_order": [2, 0, 3, 1]})";
  const std::string run = "$MTFC run mnist.json --set hidden=50 --steps 3 -q ";
  const std::string plain = "--mesh rows:2,cols:2 --layout batch:rows,hidden:cols ";
  const std::string ordered = "--layout " + folder / "order.json";
  CHECK(outcome_in_models(run + plain + "--simulate --output w1=" + folder / "plain.npy")
            .starts_with("exit 0: "));
  CHECK(outcome_in_models(run + ordered + " --simulate --output w1=" + folder / "order.npy")
            .starts_with("exit 0: "));
  CHECK(outcome_in_models(run + ordered + " --output w1=" + folder / "ranks.npy").starts_with("exit 0: "));
  CHECK(contents(folder / "plain.npy").size() > 1000);
  CHECK(contents(folder / "plain.npy") == contents(folder / "order.npy"));
  const std::string program = folder / "program.json";
  CHECK(outcome_in_models("$MTFC compile mnist.json --set hidden=50 " + ordered + " -o " + program) ==
        "exit 0: ");
  CHECK(Json::parse(contents(program))["device_order"] == Json({2, 0, 3, 1}));
  CHECK(outcome_in_models("$MTFC run " + program + " --steps 3 -q --output w1=" + folder / "saved.npy") ==
        "exit 0: ");
  CHECK(contents(folder / "saved.npy") == contents(folder / "ranks.npy"));
  CHECK(Json::parse(outcome_in_models("$MTFC cost-report mnist.json --format json " + ordered)
                        .substr(8))["device_order"] == Json({2, 0, 3, 1}));
}

}  // namespace mtfc::cost_report_test
