// mtfc search --annotations: what it finds costs no more than any annotations that one can write, and its layout file
// gives the plan that it promises.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cmd/testing/experts_model.h"
#include "cmd/testing/shell.h"
#include "core/testing/scratch_folder.h"
#include "core/testing/text.h"

namespace mtfc::search_annotations_test {
namespace {

using Json = nlohmann::json;

Json parsed(const std::string& text) {
  REQUIRE_MESSAGE(text.starts_with("exit 0: "), text);
  return Json::parse(text.substr(8));
}

Json found(const std::string& arguments) {
  return parsed(outcome_in_models("$MTFC search --annotations --quiet --format json " + arguments));
}

int64_t plan_cost(const std::string& arguments) {
  const std::string text = outcome_in_models("$MTFC cost-report --quiet --format json " + arguments);
  return text.starts_with("exit 0: ")
             ? Json::parse(text.substr(8))["layouts"][0]["plan"]["cost"].get<int64_t>()
             : INT64_MAX;
}

}  // namespace

TEST_CASE("no annotations of a small model cost less than those that are found") {
  const ScratchFolder folder;
  const std::string sizes = "two_layer.json --set batch=64 --set io=96 --set hidden=160 ";
  const Json best = found(sizes + "--mesh all:4");
  const int64_t bound = best["bound"], cost = best["cost"];
  CHECK(cost == bound);
  const std::vector<std::string> splits = {"batch", "io", "hidden", ""};
  int legal = 0;
  int64_t least = INT64_MAX;
  const auto splits_of = [&](const std::vector<std::string>& dims) {
    std::vector<std::string> all = {"{}"};
    for (const std::string& dim : dims) all.push_back(fmt::format(R"({{"{}": "all"}})", dim));
    return all;
  };
  for (const std::string& x : splits_of({"batch", "io"}))
    for (const std::string& w : splits_of({"io", "hidden"}))
      for (const std::string& v : splits_of({"hidden", "io"}))
        for (const std::string& y : splits_of({"batch", "io"})) {
          const std::string layout = fmt::format(
              R"({{"mesh": {{"all": 4}}, "shardings": {{"x": {}, "w": {}, "v": {}, "y": {}}}, "propagate": true}})",
              x, w, v, y);
          const int64_t other = plan_cost(sizes + "--layout " + folder.write("layout.json", layout));
          legal += other < INT64_MAX;
          least = std::min(least, other);
        }
  CHECK(legal == 81);
  CHECK(least >= bound);
}

TEST_CASE("the layout of experts is found without help") {
  const ScratchFolder folder;
  folder.write("model.json", kExpertsModel);
  const std::string model = folder / "model.json", layout = folder / "best.json";
  const Json best = found(fmt::format("{} --mesh all:4 -o {}", model, layout));
  CHECK(best["gap"] == 0.0);
  CHECK(best["shardings"]["wi"] == Json::parse(R"({"experts": ["all"]})"));
  CHECK(best["shardings"]["wo"] == Json::parse(R"({"experts": ["all"]})"));
  CHECK(best["cost"] < plan_cost(model + " --mesh all:4 --layout groups:all,experts:all --propagate"));
  // The file gives the plan that was found.
  const Json report = parsed(
      outcome_in_models("$MTFC cost-report --format json " + model + " --layout " + layout))["layouts"][0];
  CHECK(report["plan"]["cost"] == best["cost"]);
  CHECK(report["communication"]["by_kind"]["all_to_all"]["count"] == 4);
  CHECK(report["flops"]["duplication"].get<double>() < 1.01);
}

TEST_CASE("layers are annotated together, and results stay the same") {
  const ScratchFolder folder;
  const std::string layout = folder / "best.json";
  const Json best = found(
      "transformer_lm.json --set layers=2 --mesh rows:2,cols:2 --dims batch,vocab,heads,d_ff -o " + layout);
  CHECK(best["shardings"].contains("layer_*/ffn/feed_forward/wi"));
  CHECK(best["cost"] >= best["bound"]);
  const std::string verified =
      outcome_in_models("$MTFC verify transformer_lm.json --set layers=2 --layout " + layout);
  CHECK(has(verified, "the same as on one device: "));
}

TEST_CASE("what the layout fixes is kept, and --dims restricts the rest") {
  const ScratchFolder folder;
  const std::string kept =
      folder.write("layout.json", R"({"mesh": {"all": 4}, "shardings": {"images": {"batch": "all"}}})");
  const Json best = found("mnist.json --layout " + kept);
  CHECK(best["shardings"]["images"] == Json::parse(R"({"batch": ["all"]})"));
  CHECK(best["cost"] >= found("mnist.json --mesh all:4")["cost"]);
  const Json only = found("mnist.json --mesh all:4 --dims batch");
  for (const Json& sharding : only["shardings"])
    for (const auto& [dim, axes] : sharding.items()) CHECK(dim == "batch");
}

TEST_CASE("rules for a part of the model hold in every command") {
  const ScratchFolder folder;
  const std::string layout = folder.write("layout.json", R"({"mesh": {"all": 4}, "rules":
    [["batch", "all"], ["hidden", "all", {"in": "w*"}]]})");
  const Json best = found("two_layer.json --set batch=64 --set io=96 --set hidden=160 --layout " + layout);
  CHECK(best["limited_rules"] == Json::parse(R"([["hidden", ["all"], {"in": "w*"}]])"));
  CHECK(has(outcome_in_models("$MTFC verify mnist.json --layout " + layout), "the same as on one device: "));
  const std::string program = folder / "p.json";
  CHECK(outcome_in_models("$MTFC compile --quiet mnist.json --layout " + layout + " -o " + program) ==
        "exit 0: ");
  const std::string report = "$MTFC cost-report --quiet --format json ";
  const Json saved = parsed(outcome_in_models(report + program))["layouts"];
  CHECK(saved == parsed(outcome_in_models(report + "mnist.json --layout " + layout))["layouts"]);
  CHECK(saved[0]["limited_rules"] == best["limited_rules"]);
  CHECK(outcome_in_models("$MTFC search mnist.json --layout " + layout)
            .starts_with("exit 2: mtfc: error: search compares layouts of rules"));
}

TEST_CASE("a search over annotations says what it can't do") {
  const std::string search = "$MTFC search mnist.json --annotations --mesh all:4 ";
  CHECK(outcome_in_models(search + "--entry evaluate")
            .starts_with("exit 2: mtfc: error: --annotations can't search for"));
  CHECK(outcome_in_models(search + "--format csv")
            .starts_with("exit 2: mtfc: error: --annotations finds one layout"));
  CHECK(has(outcome_in_models(search + "--memory-limit 1MiB"), "warning: the layout of least cost needs "));
  CHECK(has(outcome_in_models("$MTFC search mnist.json --mesh all:4 --propagate"),
            "search --annotations keeps what is there"));
}

}  // namespace mtfc::search_annotations_test
