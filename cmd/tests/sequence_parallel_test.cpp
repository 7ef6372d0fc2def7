// Sequence parallelism is a layout, and a gather within the parts of a table needs no other devices.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "cmd/testing/command_results.h"
#include "cmd/testing/shell.h"
#include "core/testing/checkout.h"
#include "core/testing/scratch_folder.h"

namespace mtfc::sequence_parallel_test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

const std::string kSmall =
    "--set layers=2 --set d_model=32 --set d_ff=64 --set heads=4 --set d_kv=8 --set vocab=48 --set length=16";

// A collective of the training step over the axis `model`.
struct Moved {
  std::string kind, phase, operand, result;
  bool is_of_variable = false;
};

std::vector<Moved> moved_over_model(const std::string& arguments) {
  const ScratchFolder folder;
  REQUIRE(outcome_in_models(fmt::format("$MTFC compile {} -q --emit json -o '{}'", arguments,
                                        folder / "program.json")) == "exit 0: ");
  const Json program = Json::parse(folder.read("program.json"));
  std::set<std::string> variables;
  for (const Json& variable : program["variables"]) variables.insert(variable["name"].get<std::string>());
  std::vector<Moved> found;
  for (const Json& entry : program["entry_points"])
    for (const Json& step : entry["steps"]) {
      if (entry["name"] != "train" || step["kind"] != "start") continue;
      const Json& axes = step["axes"];
      if (std::find(axes.begin(), axes.end(), "model") == axes.end()) continue;
      const auto name = [&](const char* side) {
        return entry["values"][step[side][0].get<size_t>()]["name"].get<std::string>();
      };
      const std::string operand = name("inputs");
      const bool is_of_variable = variables.contains(operand.substr(0, operand.find('@')));
      found.push_back({step["collective"], step["phase"], operand, name("outputs"), is_of_variable});
    }
  return found;
}

// The variables that the forward or the backward pass gathers over the axis `model`.
std::set<std::string> gathered_variables(const std::string& arguments) {
  std::set<std::string> found;
  for (const Moved& moved : moved_over_model(arguments))
    if (moved.phase != "update" && moved.is_of_variable) found.insert(moved.operand);
  return found;
}

}  // namespace

TEST_CASE("a rule between parts gives Megatron's collectives of a layer") {
  // Korthikanti et al. 2022, section 4.2: an all_gather before each part and a reduce_scatter after it, in the forward
  // pass and in the backward pass, which gathers the operands of weights' gradients again.
  const std::string sizes = kSmall + " --set layers=3 --set batch=4 --mesh model:4 --layout ";
  for (const char* layout : {"megatron", "heads:model,d_ff:model,vocab:model,between:length:model"}) {
    CAPTURE(layout);
    std::map<std::string, int> of_layer;
    for (const Moved& moved : moved_over_model("transformer_lm.json " + sizes + layout))
      if (moved.result.starts_with("layer_1/") && moved.kind != "all_reduce")
        ++of_layer[moved.phase + " " + moved.kind +
                   (moved.result.find("/again") < moved.result.size() ? " again" : "")];
    CHECK(of_layer == std::map<std::string, int>{{"forward all_gather", 2},
                                                 {"forward reduce_scatter", 2},
                                                 {"backward all_gather", 2},
                                                 {"backward all_gather again", 2},
                                                 {"backward reduce_scatter", 2}});
  }
}

TEST_CASE("a rule between parts splits what devices along the axis hold copies of otherwise") {
  const std::string
      model = "transformer_lm.json",
      sizes =
          "--set layers=4 --set batch=4 --set length=256 --set d_model=512 --set d_ff=2048 --set heads=8 "
          "--set vocab=512 --mesh model:8 --layout heads:model,d_ff:model,vocab:model";
  const Json whole = report_of(model, sizes), split = report_of(model, sizes + ",between:length:model");
  const auto number = [](const Json& report, const char* at) {
    return report.at(Json::json_pointer(at)).get<double>();
  };
  CHECK(number(split, "/memory/activations_at_peak") < 0.6 * number(whole, "/memory/activations_at_peak"));
  CHECK(number(split, "/flops/other_per_device") < 0.5 * number(whole, "/flops/other_per_device"));
  CHECK(number(split, "/flops/einsum_per_device") == number(whole, "/flops/einsum_per_device"));
}

TEST_CASE("a rule between parts splits a length that a rule splits already") {
  const std::string sizes =
      "--set layers=4 --set batch=4 --set length=512 --set d_model=512 --set d_ff=2048 --set heads=8 "
      "--set vocab=512 --mesh context:2,model:8 --layout length:context,heads:model,d_ff:model,vocab:model";
  const Json whole = report_of("transformer_lm.json", sizes),
             split = report_of("transformer_lm.json", sizes + ",between:length:model");
  const Json::json_pointer activations("/memory/activations_at_peak");
  CHECK(split.at(activations).get<double>() < 0.6 * whole.at(activations).get<double>());
  // The sums that a part gives are scattered; those of gradients over the context are not.
  const Json& sent = split["communication"]["by_kind"];
  CHECK(sent["reduce_scatter"]["bytes_sent"].get<double>() >
        3 * sent["all_reduce"]["bytes_sent"].get<double>());
}

TEST_CASE("the exponentials of logits take their place, also with a sequence that is split") {
  const std::string sizes =
      "--set layers=2 --set batch=4 --set length=256 --set d_model=64 --set d_ff=128 --set heads=4 "
      "--set vocab=32768 --mesh model:2 --layout heads:model,d_ff:model,vocab:model";
  for (const char* between : {"", ",between:length:model"}) {
    CAPTURE(between);
    const Json report = report_of("transformer_lm.json", sizes + between);
    const double logits = 4.0 * 256 * 32768 / 2 * 4, at_peak = report["memory"]["activations_at_peak"];
    CHECK(at_peak >= logits);
    CHECK(at_peak < 1.2 * logits);
  }
}

TEST_CASE("the preset megatron gathers no weights over the axis that splits them") {
  for (const char* mesh : {"data:2,model:2", "data:8,model:8,expert:8"})
    for (const char* model :
         {"transformer_lm", "transformer_encdec", "moe_lm", "moe_encdec", "gpt2", "char_lm"}) {
      const std::string arguments =
          fmt::format("{}.json --set layers=2 --set batch=64 --mesh {} --layout megatron", model, mesh);
      CAPTURE(arguments);
      CHECK(gathered_variables(arguments) == std::set<std::string>());
    }
  CHECK(gathered_variables(
            "char_lm.json --set layers=2 --set batch=4 --mesh data:2,model:2 --layout megatron,propagate") ==
        std::set<std::string>());
  for (const fs::directory_entry& file :
       fs::directory_iterator(fs::path(kSourceFolder) / "models/families")) {
    const std::string family = file.path().filename();
    if (family == "keys.json") continue;
    const std::string arguments = fmt::format(
        "families/{} --set layers=4 --set batch=64 --mesh data:2,model:2,expert:2 --layout megatron", family);
    CAPTURE(arguments);
    CHECK(gathered_variables(arguments) == std::set<std::string>());
  }
}

TEST_CASE("training by a rule between parts gives what one device gives") {
  const std::string sizes =
      "--set layers=2 --set d_model=32 --set d_ff=64 --set heads=4 --set d_kv=8 --set vocab=48 --set "
      "batch=4 ";
  for (const char* arguments :
       {"transformer_lm.json --set length=16 --mesh data:2,model:2 --layout megatron,zero:3",
        "transformer_lm.json --set length=7 --mesh data:2,model:2 --layout megatron,zero:1 --microbatches 2",
        "transformer_lm.json --set length=7 --mesh context:2,model:2 --layout megatron",
        "families/llama.json --set attention_heads=4 --set length=8 --mesh data:2,context:2 --layout "
        "megatron,zero:3",
        "transformer_lm.json --set length=16 --mesh data:2,context:2,model:2 --layout megatron",
        "transformer_lm.json --set length=7 --set recompute=1 --mesh model:4 --layout megatron",
        "transformer_lm.json --set length=7 --mesh data:2,model:2 --layout megatron,propagate",
        "transformer_lm.json --set length=3 --mesh model:4 --layout megatron",
        "transformer_encdec.json --set length=7 --mesh data:2,model:2 --layout megatron",
        "moe_lm.json --set length=16 --mesh expert:2,model:2 --layout megatron,zero:3",
        "moe_encdec.json --set length=7 --mesh expert:2,model:2 --layout megatron,propagate"}) {
    CAPTURE(arguments);
    CHECK(outcome_in_models(fmt::format("$MTFC verify {} {}", arguments, sizes))
              .starts_with("exit 0: the same as on one device: "));
  }
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
