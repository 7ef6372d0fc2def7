// What a layer of experts (models/std/moe.json) sends if groups and experts are split over the same axes: two
// all_to_alls forward and one more for each backward, and nothing else that grows with the tokens.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cmd/testing/command_results.h"
#include "cmd/testing/shell.h"
#include "core/testing/checkout.h"
#include "core/testing/scratch_folder.h"

namespace mtfc::expert_layout_test {
namespace {

using Json = nlohmann::ordered_json;

// A layer after a product, so that the gradients of its tokens are needed.
const char* kLayer = R"({
  "mtfc": 1,
  "include": ["std/moe.json"],
  "params": {"one_hot": 0},
  "dims": {"groups": 16, "tokens": 64, "experts": 8, "d_model": 64, "d_ff": 128, "io": 64, "beam": 1},
  "inputs": {"x": {"dims": ["groups", "tokens", "io"]}},
  "variables": {"w": {"dims": ["io", "d_model"], "init": {"normal": 1}}},
  "ops": [
    {"out": "h", "op": "einsum", "in": ["x", "w"], "over": "io"},
    {"out": ["y", "balance", "z_loss", "load", "dropped"], "op": "call", "block": "moe", "in": ["h", 1],
     "bind": {"random": 1, "one_hot": "one_hot"}},
    {"out": "loss", "op": "add", "in": [{"op": "reduce_mean", "in": {"op": "square", "in": "y"}}, "balance"]}
  ],
  "train": {"loss": "loss", "optimizer": {"kind": "sgd", "lr": 0.1}},
  "outputs": ["loss"]
})";

Json report_of(const std::string& model, const std::string& options) {
  const std::string command = fmt::format("cost-report '{}' --propagate --format json {}", model, options);
  const Outcome found = outcome_here(command);
  CAPTURE(command);
  CAPTURE(found.text);
  REQUIRE(found.code == 0);
  return Json::parse(found.text)["layouts"][0];
}

// `kind bytes` of each collective of a phase, in order of their sizes.
std::vector<std::string> collectives(const Json& report, const std::string& phase) {
  std::vector<std::pair<int64_t, std::string>> found;
  for (const Json& step : report["steps"])
    if (step["phase"] == phase && step["bytes_sent"] > 0)
      found.emplace_back(-step["bytes_sent"].get<int64_t>(), step["kind"].get<std::string>());
  std::sort(found.begin(), found.end());
  std::vector<std::string> text;
  for (const auto& [negative, kind] : found) text.push_back(fmt::format("{} {}", kind, -negative));
  return text;
}

bool has_mask(const Json& report) {
  return std::any_of(report["tensors"].begin(), report["tensors"].end(), [](const Json& tensor) {
    return tensor["dims"].contains("tokens") &&
           (tensor["dims"].contains("capacity") || tensor["dims"].contains("slots"));
  });
}

}  // namespace

TEST_CASE("a layer of experts has two all_to_alls forward, and two backward") {
  const ScratchFolder folder;
  const std::string model = folder.write("layer.json", kLayer);
  const std::vector<std::string> forward = {"all_to_all 98304", "all_to_all 98304", "all_reduce 8"};
  // The gradients of w and of the weights of the gates, of 24,576 and 3,072 bytes, are sent together.
  const std::vector<std::string> backward = {"all_to_all 98304", "all_to_all 98304", "all_reduce 27648"};
  for (const char* layout : {"--mesh all:4 --layout groups:all,experts:all",
                             "--mesh rows:2,cols:2 --layout groups:rows+cols,experts:rows+cols"})
    for (const bool one_hot : {false, true}) {
      CAPTURE(layout);
      CAPTURE(one_hot);
      const Json report = report_of(model, fmt::format("{} --set one_hot={}", layout, one_hot ? 1 : 0));
      CHECK(collectives(report, "forward") == forward);
      CHECK(collectives(report, "backward") == backward);
      CHECK(has_mask(report) == one_hot);
    }
}

TEST_CASE("search finds the layout with split experts") {
  const ScratchFolder folder;
  const std::string model = folder.write("layer.json", kLayer), best = folder / "best.json";
  const Outcome searched = outcome_of(fmt::format(
      "'{}' search '{}' --mesh all:4 --annotations --quiet -o '{}' 2>&1", kTestedProgram, model, best));
  CHECK(searched.code == 0);
  const Json found = report_of(model, fmt::format("--layout '{}'", best));
  const Json by_hand = report_of(model, "--mesh all:4 --layout groups:all,experts:all");
  CHECK(found["plan"]["cost"].get<int64_t>() <= by_hand["plan"]["cost"].get<int64_t>());
  const std::vector<std::string> forward = collectives(found, "forward");
  CHECK(std::count(forward.begin(), forward.end(), "all_to_all 98304") == 2);
  for (const Json& tensor : found["tensors"])
    if (tensor["name"] == "moe/dispatch/experts/wi")
      CHECK(tensor["sharding"] == Json({{"experts", {"all"}}}));
}

TEST_CASE("at the paper's size an all_to_all sends what the formula says") {
  const ScratchFolder folder;
  const std::string model = folder.write("layer.json", kLayer);
  const Json report = report_of(model,
                                "--mesh rows:32,cols:64 --layout groups:rows+cols,experts:rows+cols --set "
                                "groups=2048 --set tokens=2048 "
                                "--set experts=2048 --set d_model=1024 --set d_ff=8192");
  // experts · groups · capacity · d_model · 4 bytes, of which a device sends all of its share but its own part.
  constexpr int64_t kBytes = 2048ll * 2048 * 2 * 1024 * 4 / 2048 * 2047 / 2048;
  const std::string each = fmt::format("all_to_all {}", kBytes);
  CHECK(each == "all_to_all 16769024");
  CHECK(collectives(report, "forward") == std::vector<std::string>{each, each, "all_reduce 8"});
}

}  // namespace mtfc::expert_layout_test
