// mtfc show: which shards devices hold, as a list and as a drawing.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "cmd/testing/shell.h"
#include "core/testing/checkout.h"
#include "core/testing/scratch_folder.h"
#include "core/testing/text.h"

namespace mtfc::show_test {
namespace {

using Json = nlohmann::json;

const std::string kTwoByTwo = "--mesh rows:2,cols:2 --layout batch:rows,hidden:cols ";

std::string shown(const std::string& arguments) {
  return outcome_in_models("$MTFC show " + arguments);
}

Json json_of(const std::string& arguments) {
  const std::string text = shown(arguments + " --format json");
  REQUIRE_MESSAGE(text.starts_with("exit 0: "), text);
  return Json::parse(text.substr(8));
}

size_t longest_line(const std::string& text) {
  std::istringstream lines(text);
  size_t longest = 0;
  for (std::string line; std::getline(lines, line);) longest = std::max(longest, line.size());
  return longest;
}

const std::string kLayers = "transformer_lm.json -q --mesh rows:2,cols:2 --layout batch:rows,heads:cols ";

}  // namespace

TEST_CASE("a pattern lists the tensors that it matches, those that operations compute among them") {
  const std::string list = shown(kLayers + "'layer_*/**/wq'");
  CHECK(has(list,
            "\nvariables: 768 KiB per device\n  layer_{0..5}/self/attention/wq  f32 [d_model 256, heads "));
  CHECK(!has(list, "inputs"));
  CHECK(!has(list, "/wk "));
  CHECK(has(shown(kLayers + "layer_0/self/*"), "\ncomputed: "));
  const Json json = json_of(kLayers + "'layer_*/**/wq'");
  CHECK(json["tensors"].size() == 6);
  for (const Json& tensor : json["tensors"])
    CHECK(tensor["name"].get<std::string>().ends_with("attention/wq"));
  CHECK(json_of(kLayers + "'layer_*/**/wq' --rank 1")["tensors"][0].contains("region"));
}

TEST_CASE("a tensor is found under the name that the model gives it, where a block names it otherwise") {
  CHECK(shown(kLayers + "logits")
            .starts_with("exit 0: output/logits  f32 [batch 8/rows, length 64, vocab 4096]"));
  CHECK(shown(kLayers + "x").starts_with("exit 0: position/y  f32 ["));
  CHECK(shown(kLayers + "logit") ==
        "exit 2: mtfc: error: train has no tensor 'logit' (did you mean 'logits'?)\n");
}

TEST_CASE("a pattern matches the names that the model gives to tensors, too") {
  const auto names = [](const std::string& pattern) {
    std::vector<std::string> found;
    const Json all = json_of(kLayers + pattern);
    for (const Json& tensor : all["tensors"]) found.push_back(tensor["name"]);
    std::sort(found.begin(), found.end());
    return found;
  };
  using Names = std::vector<std::string>;
  CHECK(names("'x*'") == Names{"position/y"});
  CHECK(names("'l*'") == Names{"loss", "norm/y", "output/logits"});  // loss, last and logits
  CHECK(names("'logit*'") == Names{"output/logits"});
  CHECK(names("'output/logit*'") == Names{"output/logits"});
}

TEST_CASE("a result that nothing uses is in no program, and show and explain say so") {
  const ScratchFolder folder;
  folder.write("model.json", R"({"mtfc": 1, "dims": {"a": 4, "b": 3},
    "inputs": {"x": {"dims": ["a"]}, "k": {"dims": ["b", "a"]}},
    "ops": [{"out": "y", "op": "exp", "in": "x"}, {"out": "w", "op": "neg", "in": "y"},
            {"out": "v", "op": "broadcast", "in": "x", "dims": ["b", "a"]}, {"out": "z", "op": "mul", "in": ["k", "v"]}],
    "outputs": ["z"]})");
  const auto said = [&](const std::string& words) {
    const auto [code, text] =
        outcome_of(fmt::format("cd '{}' && '{}' {} 2>&1", folder.path.string(), kTestedProgram, words));
    return fmt::format("exit {}: {}", code, text);
  };
  for (const char* words : {"show model.json ", "explain model.json "}) {
    for (const char* name : {"y", "w"})
      CHECK(
          said(words + std::string(name)) ==
          fmt::format("exit 2: mtfc: error: nothing in evaluate uses '{}', so it is left out of the program "
                      "(name it among the outputs of the model to keep it)\n",
                      name));
    CHECK(said(words + std::string("v")) ==
          "exit 2: mtfc: error: 'v' is not in the program of evaluate: the compiler has simplified it away "
          "(--entry names another entry point)\n");
    CHECK(has(said(words + std::string("z")), "exit 0: "));
  }
  CHECK(has(said("show model.json 'y*'"), "error: nothing in evaluate uses 'y', so it is left out"));
}

TEST_CASE("a pattern that matches no tensor is an error with the nearest one that does") {
  const std::string problem = "exit 2: mtfc: error: train has no tensor whose name matches ";
  CHECK(shown(kLayers + "'layer_*'") ==
        problem + "'layer_*' (* does not stand for '/', but ** does: did you mean 'layer_**'?)\n");
  CHECK(shown(kLayers + "'layr_0/**'") == problem + "'layr_0/**' (did you mean 'layer_0/**'?)\n");
  CHECK(shown(kLayers + "'layer_0/slef/*/wq'") ==
        problem + "'layer_0/slef/*/wq' (did you mean 'layer_0/self/*/wq'?)\n");
  CHECK(shown(kLayers + "'nothing*'") == problem + "'nothing*' (mtfc show --all lists the tensors)\n");
}

// The mesh and the layout of the two-layer model are those of section 8 and of appendix A of the Mesh-TensorFlow paper.
TEST_CASE("a tensor is drawn with the ranks that hold its shards") {
  CHECK(shown("two_layer.json h " + kTwoByTwo) ==
        R"(exit 0: h  f32 [batch 1024/rows, hidden 4096/cols], computed by train
16.0 MiB in 4 shards of at most 4.00 MiB

  down    batch over rows
  across  hidden over cols

             0-2047   2048-4095
           +--------+-----------+
     0-511 |   0    |     1     |
           +--------+-----------+
  512-1023 |   2    |     3     |
           +--------+-----------+
)");
  const std::string w = shown("two_layer.json w " + kTwoByTwo);
  CHECK(has(w, "16.0 MiB in 2 shards of at most 8.00 MiB; 2 devices hold copies of each\n"));
  CHECK(has(w, "|  0 2   |    1 3    |"));
  const std::string y = shown("two_layer.json loss " + kTwoByTwo);
  CHECK(has(y, "loss  f32 [], an output of train\n4 B, not split; 4 devices hold copies of it\n"));
  CHECK(has(y, "| 0 1 2 3 |"));
}

TEST_CASE("the list has every input and variable, with what a device holds of it") {
  const std::string list = shown("two_layer.json " + kTwoByTwo);
  CHECK(has(list, "two_layer, train, on rows:2,cols:2 (4 devices), batch:rows,hidden:cols\n"));
  CHECK(has(list, "          cols  0  1\n  rows 0        0  1\n  rows 1        2  3\n"));
  CHECK(has(list, "inputs: 2.00 MiB per device\n  x  f32 [batch 1024/rows, io 1024], 2.00 MiB, 2 copies\n"));
  // w and v: 1024 x 2048 of 4 bytes each; bias: 2048 of 4 bytes.
  CHECK(has(list, "variables: 16.0 MiB per device\n"));
  CHECK_FALSE(has(list, "computed"));
  CHECK(has(shown("two_layer.json --all " + kTwoByTwo), "computed: "));
  const std::string rank = shown("two_layer.json --rank 3 " + kTwoByTwo);
  CHECK(has(rank, "rank 3 is at rows 1, cols 1\n"));
  CHECK(has(rank, "  x  f32 [batch 512-1023 of 1024, io 1024], 2.00 MiB, 2 copies\n"));
}

TEST_CASE("JSON has the region of every rank") {
  const Json found = json_of("mnist.json w1 --mesh a:3 --layout hidden:a");
  CHECK(found["mtfc_placement"] == 1);
  const Json& devices = found["tensors"][0]["devices"];
  REQUIRE(devices.size() == 3);
  // Shard i of 3 of 1024 is [floor(i*1024/3), floor((i+1)*1024/3)).
  CHECK(devices[0]["region"] == Json::parse("[[0,28],[0,28],[0,341]]"));
  CHECK(devices[1]["region"] == Json::parse("[[0,28],[0,28],[341,682]]"));
  CHECK(devices[2]["region"] == Json::parse("[[0,28],[0,28],[682,1024]]"));
  CHECK(found["tensors"][0]["bytes_per_device"] == 28 * 28 * 342 * 4);
}

TEST_CASE("layers share a line, and large meshes fit into a terminal") {
  const std::string list = shown(
      "transformer_lm.json --set layers=48 --mesh rows:16,cols:32 --layout "
      "batch:rows,vocab:cols,d_ff:cols,heads:cols --set heads=32 --set batch=512");
  CHECK(has(list, "layer_{0..47}/ffn/feed_forward/wi"));
  CHECK(has(list, "\noptimizer state, split like the variables: 31.0 MiB per device\n"));
  CHECK(std::count(list.begin(), list.end(), '\n') < 60);
  CHECK(longest_line(list) <= 88);  // `exit 0: ` before the first line
  const std::string drawing =
      shown("transformer_lm.json tokens --mesh rows:64,cols:64 --layout batch:rows+cols --set batch=8192");
  CHECK(has(drawing, "4,096 shards"));
  CHECK(longest_line(drawing) <= 88);
  const std::string gap = shown("mnist.json w1 --mesh a:64 --layout hidden:a");
  CHECK(has(gap, " .. "));
  CHECK(has(gap, "1008-1023"));
  CHECK(longest_line(gap) <= 80);
}

TEST_CASE("a dimension that is smaller than its axes leaves devices without a shard") {
  const std::string drawing = shown("mnist.json images --set batch=1 --mesh a:4 --layout batch:a -q");
  CHECK(has(drawing, "none |"));
  CHECK(has(drawing, "   0 |"));
}

TEST_CASE("show refuses what it can't show") {
  CHECK(shown("mnist.json w9 -q") == "exit 2: mtfc: error: train has no tensor 'w9' (did you mean 'w1'?)\n");
  CHECK(has(shown("mnist.json nothing_like_it -q"),
            "(mtfc show --all lists the tensors; --entry names another"));
  CHECK(has(shown("mnist.json --rank 4 --mesh a:4 --layout batch:a"),
            "exit 2: mtfc: error: there is no rank 4: the mesh has 4 devices (give a rank from 0 to 3)\n"));
  CHECK(shown("mnist.json w1 --rank 0").starts_with("exit 2: mtfc: error: --rank is for the list"));
  CHECK(shown("mnist.json w1 --all").starts_with("exit 2: mtfc: error: --all is for the list"));
  CHECK(shown("mnist.json ''").starts_with("exit 2: mtfc: error: TENSOR: the value is empty"));
}

}  // namespace mtfc::show_test
