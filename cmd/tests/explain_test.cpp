// mtfc explain: why tensors are split as they are, what causes a collective, and that what it proposes removes it.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "cmd/testing/experts_model.h"
#include "cmd/testing/shell.h"
#include "core/testing/checkout.h"
#include "core/testing/scratch_folder.h"
#include "core/testing/text.h"
#include "formats/testing/drawn_page.h"

namespace mtfc::explain_test {
namespace {

using Json = nlohmann::json;

// A model and a layout in files of their own.
class Explained {
 public:
  Explained(const std::string& model, const Json& layout) : layout_(layout) {
    folder_.write("model.json", model);
    folder_.write("layout.json", layout.dump());
  }

  // Returns the exit code and the output of `mtfc explain`.
  std::string text(const std::string& arguments) const { return outcome("explain model.json " + arguments); }
  Json json(const std::string& arguments) const {
    const std::string printed = text(arguments + " --format json");
    REQUIRE_MESSAGE(printed.starts_with("exit 0: "), printed);
    return Json::parse(printed.substr(8));
  }

  // Returns the exit code and the output of another command in the folder.
  std::string run(const std::string& command) const {
    const Outcome outcome =
        outcome_of(fmt::format("cd '{}' && '{}' {} 2>&1", folder_.path.string(), kTestedProgram, command));
    return fmt::format("exit {}: {}", outcome.code, outcome.text);
  }
  std::string read(const std::string& file) const { return folder_.read(file); }

  // The reshards of the entry point, the largest first.
  Json reshards() const { return json("")["reshards"]; }
  // The first one of the tensor.
  Json reshard_of(const std::string& tensor) const {
    for (const Json& reshard : reshards())
      if (reshard["tensor"] == tensor) return reshard;
    return {};
  }

  // Makes the change that the explanation of a reshard proposes.
  void apply(const Json& change) {
    if (change.contains("shardings")) layout_["shardings"].update(change["shardings"]);
    if (change.contains("removed")) layout_["shardings"].erase(change["removed"].get<std::string>());
    if (change.contains("propagate")) layout_["propagate"] = true;
    folder_.write("layout.json", layout_.dump());
  }

 private:
  std::string outcome(const std::string& command) const { return run(command + " --layout layout.json"); }

  ScratchFolder folder_;
  Json layout_;
};

// The tensor is resharded. What is proposed costs what it says, and the tensor stays where it is then, or less of it is
// sent by another collective.
void check_removal(Explained& explained, const std::string& tensor, const std::string& collective,
                   const Json& change) {
  CAPTURE(tensor);
  const Json reshard = explained.reshard_of(tensor);
  REQUIRE(!reshard.is_null());
  CHECK(reshard["collective"] == collective);
  const Json explanation = explained.json(reshard["step"].dump());
  CHECK(explanation["reshard"] == reshard);
  const Json removal = explanation["removal"];
  REQUIRE(!removal.is_null());
  CHECK(removal["change"]["shardings"] == change);
  CHECK(removal["figures"]["cost"] < explanation["figures"]["cost"]);
  explained.apply(removal["change"]);
  const Json now = explained.reshard_of(tensor);
  if (!now.is_null()) {
    CHECK(now["collective"] != collective);
    CHECK(now["bytes_sent_per_device"] < reshard["bytes_sent_per_device"]);
  }
  int64_t bytes = 0;
  for (const Json& left : explained.reshards())
    bytes += left["bytes_sent_per_device"].get<int64_t>() * left["runs"].get<int64_t>();
  CHECK(removal["figures"]["bytes_sent_per_device"] == bytes);
}

}  // namespace

TEST_CASE("a whole tensor is gathered because one tensor is not annotated") {
  Explained explained(R"({"mtfc": 1, "name": "residual", "dims": {"batch": 64, "io": 256},
    "inputs": {"x": {"dims": ["batch", "io"]}, "r": {"dims": ["batch", "io"]}},
    "ops": [{"out": "y", "op": "add", "in": ["x", "r"]}],
    "outputs": ["y"]})",
                      {{"mesh", {{"all", 4}}}, {"shardings", {{"x", {{"batch", "all"}}}}}});
  CHECK(explained.reshard_of("y")["bytes_sent_per_device"] == 49'152);
  check_removal(explained, "y", "all_gather", {{"y", {{"batch", {"all"}}}}});
}

TEST_CASE("a tensor is gathered before it is reduced") {
  Explained explained(R"({"mtfc": 1, "name": "sum_of_squares", "dims": {"batch": 64, "io": 256},
    "inputs": {"x": {"dims": ["batch", "io"]}},
    "ops": [{"out": "squares", "op": "square", "in": ["x"]},
            {"out": "total", "op": "reduce_sum", "in": ["squares"]}],
    "outputs": ["total"]})",
                      {{"mesh", {{"all", 4}}}, {"shardings", {{"x", {{"batch", "all"}}}}}});
  check_removal(explained, "squares", "all_gather", {{"squares", {{"batch", {"all"}}}}});
  // The only collective left adds up one number over the devices.
  CHECK(explained.reshards().size() == 1);
  CHECK(explained.reshard_of("total")["bytes_sent_per_device"] == 8);
}

TEST_CASE("a gradient is not split like its variable") {
  Explained explained(
      R"({"mtfc": 1, "name": "product", "dims": {"batch": 64, "io": 256, "hidden": 128},
    "inputs": {"x": {"dims": ["batch", "io"]}},
    "variables": {"w": {"dims": ["io", "hidden"], "init": {"normal": 0.1}}},
    "ops": [{"out": "h", "op": "einsum", "in": ["x", "w"], "dims": ["batch", "hidden"]},
            {"out": "loss", "op": "reduce_mean", "in": {"op": "square", "in": ["h"]}}],
    "train": {"loss": "loss", "optimizer": {"kind": "adam", "lr": 0.1}},
    "outputs": ["loss"]})",
      {{"mesh", {{"all", 4}}},
       {"shardings", {{"x", {{"batch", "all"}}}, {"w", {{"io", "all"}}}, {"w/grad", Json::object()}}},
       {"propagate", true}});
  const std::string step = explained.reshard_of("w/grad")["step"].dump();
  CHECK(has(explained.text(step), "\n  change \"w/grad\" in \"shardings\" to {\"io\": \"all\"}\n"));
  check_removal(explained, "w/grad", "all_gather", {{"w/grad", {{"io", {"all"}}}}});
}

TEST_CASE("propagation is proposed where no annotation alone costs less") {
  const Explained explained(
      R"({"mtfc": 1, "name": "chain", "dims": {"batch": 64, "io": 256},
    "inputs": {"x": {"dims": ["batch", "io"]}},
    "ops": [{"out": "a", "op": "square", "in": ["x"]}, {"out": "b", "op": "neg", "in": ["a"]},
            {"out": "c", "op": "exp", "in": ["b"]}, {"out": "d", "op": "sin", "in": ["c"]},
            {"out": "e", "op": "cos", "in": ["d"]}, {"out": "y", "op": "tanh", "in": ["e"]}],
    "outputs": ["y"]})",
      {{"mesh", {{"all", 4}}}, {"shardings", {{"x", {{"batch", "all"}}}, {"y", {{"batch", "all"}}}}}});
  const Json reshard = explained.reshards()[0];
  const Json removal = explained.json(reshard["step"].dump())["removal"];
  REQUIRE(!removal.is_null());
  CHECK(removal["change"]["propagate"] == true);
  CHECK(removal["figures"]["bytes_sent_per_device"] == 0);
}

TEST_CASE("the result of a table lookup is replicated") {
  Explained explained(R"({"mtfc": 1, "name": "lookup",
    "dims": {"batch": 64, "length": 32, "vocab": 100000, "model": 64},
    "inputs": {"ids": {"dims": ["batch", "length"], "dtype": "i32"}},
    "variables": {"table": {"dims": ["vocab", "model"], "init": {"normal": 0.1}}},
    "ops": [{"out": "found", "op": "gather", "in": ["table", "ids"], "dim": "vocab"}],
    "outputs": ["found"]})",
                      Json::parse(R"({"mesh": [["rows", 2], ["cols", 2]],
    "shardings": {"ids": {"batch": "rows"}, "table": {"vocab": "cols"}}})"));
  // The sum over cols must be made; gathering its result over rows need not.
  Json gathered = explained.reshards()[1];
  CHECK(gathered["tensor"] == "found");
  CHECK(gathered["collective"] == "all_gather");
  const Json explanation = explained.json(gathered["step"].dump());
  const Json change = explanation["removal"]["change"];
  CHECK(change["shardings"] == Json::parse(R"({"found": {"batch": ["rows"]}})"));
  // A whole table would make it cheaper still, in twice the memory.
  CHECK(explanation["cheaper"]["change"]["shardings"] == Json::parse(R"({"table": {}})"));
  explained.apply(change);
  CHECK(explained.reshards().size() == 1);
  CHECK(explained.reshards()[0]["collective"] == "all_reduce");
}

TEST_CASE(
    "each exchange of an expert layer names its operation, both shardings, its bytes and the next best "
    "plan") {
  const Json layout = Json::parse(
      R"({"mesh": {"all": 4}, "propagate": true, "rules": [["groups", "all"], ["experts", "all"]]})");
  const Explained explained(kExpertsModel, layout);
  size_t exchanges = 0;
  for (const Json& reshard : explained.reshards()) {
    const Json explanation = explained.json(reshard["step"].dump());
    CAPTURE(explanation.dump());
    CHECK(explanation["reshard"] == reshard);
    CHECK(reshard["maker"]["operation"].is_string());
    CHECK(reshard["readers"].size() > 0);
    CHECK(reshard["from"] != reshard["to"]);
    if (reshard["collective"] != "all_to_all") continue;
    ++exchanges;
    // The change removes this very collective, and not another one of the tensor.
    Explained changed(kExpertsModel, layout);
    changed.apply(explanation["removal"]["change"]);
    for (const Json& left : changed.reshards())
      CHECK_FALSE((left["tensor"] == reshard["tensor"] && left["from"] == reshard["from"] &&
                   left["to"] == reshard["to"] && left["readers"] == reshard["readers"]));
    CHECK(reshard["bytes_sent_per_device"] == 98'304);
    // The plan is the best under these rules, so one that does without the exchange costs more.
    REQUIRE(!explanation["removal"].is_null());
    CHECK(explanation["removal"]["figures"]["cost"] > explanation["figures"]["cost"]);
  }
  CHECK(exchanges == 4);
}

TEST_CASE("the sharding of a tensor is traced to the annotation that it comes from") {
  const ScratchFolder folder;
  const std::string layout = folder.write(
      "layout.json", R"({"mesh": {"rows": 2, "cols": 2}, "rules": [["batch", "rows"]], "propagate": true,
       "shardings": {"embedding/table": {"vocab": "cols"}, "output/table": {"vocab": "cols"},
                     "layer_*/**/wq": {"heads": "cols"}, "layer_*/**/wi": {"d_ff": "cols"}}})");
  const std::string command =
      "$MTFC explain transformer_lm.json layer_3/self/attention/wo --layout " + layout;
  const std::string text = outcome_in_models(command);
  CHECK(has(text,
            "propagated\nlayer_3/self/attention/wo: f32 [heads/cols, d_kv, d_model] (std/attention.json:"));
  CHECK(has(text, "'heads' is split over cols by the annotation \"layer_*/**/wq\""));
  CHECK(has(text, "as it is"));
  const Json json = Json::parse(outcome_in_models(command + " --format json").substr(8));
  REQUIRE(json["splits"].size() == 1);
  const Json& split = json["splits"][0];
  CHECK(split["origin"]["text"] == "layer_*/**/wq");
  CHECK(split["origin"]["place"]["line"] == 3);
  CHECK(split["path"].front()["tensor"] == "layer_3/self/attention/wq");
  CHECK(split["path"].back() == Json{{"tensor", "layer_3/self/attention/wo"}, {"operation", "einsum"}});
  REQUIRE(json["alternatives"].size() > 0);
  for (const Json& alternative : json["alternatives"])
    CHECK(alternative["figures"]["cost"] >= json["alternatives"][0]["figures"]["cost"]);
}

TEST_CASE("a reshape that sends elements has forms of both sides, each with its own dimensions") {
  const Explained joined(
      R"({"mtfc": 1, "dims": {"a": 5, "b": 3, "c": 15}, "inputs": {"x": {"dims": ["a", "b"]}},
 "ops": [{"out": "y", "op": "reshape", "in": "x", "dims": ["c"]}, {"out": "z", "op": "relu", "in": "y"}],
 "outputs": ["z"]})",
      {{"mesh", {{"dp", 2}}}, {"rules", Json::parse(R"([["a", "dp"], ["c", "dp"]])")}});
  const std::string forms = "[a/dp, b] -> [c/dp]";
  CHECK(has(joined.text(""), "exchange of 'x' over dp: " + forms));
  const Json reshard = joined.reshard_of("x");
  CHECK(reshard["dims"].dump() == R"({"a":5,"b":3})");
  CHECK(reshard["dims_after"].dump() == R"({"c":15})");
  CHECK(reshard["from"]["split"].dump() == R"({"a":["dp"]})");
  CHECK(reshard["to"]["split"].dump() == R"({"c":["dp"]})");
  CHECK(has(joined.run("diff model.json layout.json a:dp --mesh dp:2"), forms));
  CHECK(joined.run("cost-report model.json --layout layout.json -o page.html -q") == "exit 0: ");
  const Json page = page_data(joined.read("page.html"));
  CHECK(has(page["layouts"][0]["details"]["collectives"].dump(), R"("[a/dp, b]","[c/dp]")"));
}

TEST_CASE("a tensor under rules has its reason too") {
  const std::string command = "$MTFC explain mnist.json --mesh all:4 --layout batch:all ";
  CHECK(has(outcome_in_models(command + "h"),
            "\n  'batch' is split over all by the rule batch:all (--layout:1)\n"));
  CHECK(
      has(outcome_in_models(command + "w1"), "no rule splits its dimensions, and no annotation names it\n"));
}

TEST_CASE("a tensor names the limited rule, and the state its \"shard_state_over\"") {
  const char* const model = R"({"mtfc": 1, "name": "product", "dims": {"batch": 64, "io": 256, "hidden": 128},
    "inputs": {"x": {"dims": ["batch", "io"]}},
    "variables": {"w": {"dims": ["io", "hidden"], "init": {"normal": 0.1}}},
    "ops": [{"out": "h", "op": "einsum", "in": ["x", "w"], "dims": ["batch", "hidden"]},
            {"out": "loss", "op": "reduce_mean", "in": {"op": "square", "in": ["h"]}}],
    "train": {"loss": "loss", "optimizer": {"kind": "adam", "lr": 0.1}, "shard_state_over": ["rows"]},
    "outputs": ["loss"]})";
  for (const bool propagate : {false, true}) {
    CAPTURE(propagate);
    const Json mesh = Json::parse(R"([["rows", 2], ["cols", 2]])");
    const Explained plain(model, {{"mesh", mesh},
                                  {"rules", Json::parse(R"([["batch", "rows"], ["hidden", "cols"]])")},
                                  {"propagate", propagate}});
    const std::string state = plain.text("w/adam_m");
    CHECK(has(state, "'hidden' is split over cols by the rule hidden:cols (layout.json:1)"));
    CHECK(has(state, "'io' is split over rows by \"shard_state_over\" of the model (model.json:"));
    CHECK(has(plain.text("w"), "'hidden' is split over cols by the rule hidden:cols (layout.json:1)"));
    const Explained limited(
        model, {{"mesh", mesh},
                {"rules", Json::parse(R"([["batch", "rows"], ["hidden", "cols", {"in": "w*"}]])")},
                {"propagate", propagate}});
    for (const char* entry : {"", " --entry init"}) {
      CHECK(has(limited.text(std::string("w") + entry),
                "'hidden' is split over cols by the rule hidden:cols in w* (layout.json:1)"));
      CHECK(has(limited.text(std::string("w/adam_m") + entry),
                "'hidden' is split over cols by the rule hidden:cols in w* (layout.json:1)"));
      CHECK(has(limited.text(std::string("w/adam_m") + entry),
                "'io' is split over rows by \"shard_state_over\" of the model (model.json:"));
    }
    // A rule does not count where an annotation takes its place.
    const Explained annotated(model, {{"mesh", mesh},
                                      {"rules", Json::parse(R"([["io", "rows"]])")},
                                      {"shardings", {{"w", {{"hidden", "cols"}}}}},
                                      {"propagate", propagate}});
    for (const char* entry : {"", " --entry init"})
      CHECK(has(annotated.text(std::string("w/adam_m") + entry),
                "'io' is split over rows by \"shard_state_over\" of the model (model.json:"));
    // Of two rules for a dimension, the one for the exact name decides; each dimension has a rule of its own.
    const Explained two(
        model,
        {{"mesh", mesh},
         {"rules",
          Json::parse(
              R"([["hidden", "cols", {"in": "w"}], ["hidden", "cols", {"in": "**"}], ["io", "rows", {"in": "*"}]])")},
         {"propagate", propagate}});
    const std::string reasons = two.text("w");
    CHECK(has(reasons, "'hidden' is split over cols by the rule hidden:cols in w (layout.json:1)"));
    CHECK(has(reasons, "'io' is split over rows by the rule io:rows in * (layout.json:1)"));
  }
  // Another entry point has split the variable over the axis that the state is split over.
  const Explained chosen(model, {{"mesh", Json::parse(R"({"rows": 4})")},
                                 {"rules", Json::parse(R"([["batch", "rows"]])")},
                                 {"propagate", true}});
  CHECK(has(chosen.text("w --entry init"), "by the plan of another entry point"));
}

TEST_CASE("an annotation may keep the sharding in which a tensor is made, where rules would gather it") {
  const Explained squares(
      R"({"mtfc": 1, "dims": {"batch": 64, "io": 65536}, "inputs": {"x": {"dims": ["batch", "io"]}},
    "ops": [{"out": "y", "op": "square", "in": "x"}, {"out": "total", "op": "reduce_sum", "in": "y"}],
    "outputs": ["total"]})",
      {{"mesh", Json::parse(R"({"all": 4})")},
       {"rules", Json::array()},
       {"shardings", {{"x", {{"batch", "all"}}}}}});
  const std::string text = squares.text("y");
  CHECK(has(text, "'batch' is split over all by the annotation \"x\" (layout.json:1) of 'x' -> square 'y'"));
  CHECK(has(text, "{\"batch\": \"all\"}      32,776  -100 %           8            1"));
}

TEST_CASE("a tensor that the compiler has made has no alternatives") {
  const std::string text =
      outcome_in_models("$MTFC explain mnist.json w1/sgd/mul --mesh all:4 --layout batch:all ");
  CHECK(has(text, "none: the compiler has made it, so annotations can't name it"));
  CHECK(!has(text, "no axis reaches"));
}

TEST_CASE("with hardware, shardings are compared by the predicted time of a step") {
  const std::string command =
      "$MTFC explain mnist.json h --mesh all:4 --layout batch:all --propagate --hardware tpu-v2 ";
  const Json explanation = Json::parse(outcome_in_models(command + "--format json").substr(8));
  const Json& alternatives = explanation["alternatives"];
  REQUIRE(alternatives.size() > 1);
  for (size_t i = 0; i < alternatives.size(); ++i) {
    CHECK(alternatives[i]["figures"]["step_s"] > 0);
    if (i > 0) CHECK(alternatives[i]["figures"]["step_s"] >= alternatives[i - 1]["figures"]["step_s"]);
  }
  const std::string table = outcome_in_models(command);
  CAPTURE(table);
  CHECK(has(table, "step time"));
  // Memory is in the units of the 8 GB of a device.
  CHECK(has(table, " MB\n"));
  CHECK_FALSE(has(table, "iB"));
}

TEST_CASE("without an argument, the costliest collectives are listed, a line each") {
  const std::string list = outcome_in_models("$MTFC explain mnist.json --mesh all:4 --layout batch:all");
  CHECK(list.starts_with("exit 0: mesh all:4, layout batch:all\ntrain of mnist: "));
  CHECK(has(list, "\nthe collectives that send most, by the numbers of their steps\n"));
  const Json json = Json::parse(
      outcome_in_models("$MTFC explain mnist.json --mesh all:4 --layout batch:all --format json").substr(8));
  REQUIRE(json["reshards"].size() > 2);
  CHECK(json["reshards"].size() <= 10);
  for (size_t i = 1; i < json["reshards"].size(); ++i)
    CHECK(json["reshards"][i]["bytes_sent_per_device"] <= json["reshards"][i - 1]["bytes_sent_per_device"]);
  CHECK(outcome_in_models("$MTFC explain mnist.json")
            .starts_with("exit 0: one device\ntrain of mnist: 0 collectives, 0 bytes"));
}

TEST_CASE("lines for a pipe are as long as COLUMNS says, and otherwise stay whole") {
  const std::string command = "$MTFC explain mnist.json --mesh all:4 --layout batch:all ";
  const auto longest = [](const std::string& text) {
    std::istringstream lines(text);
    size_t most = 0;
    for (std::string line; std::getline(lines, line);) most = std::max(most, line.size());
    return most;
  };
  const std::string list = outcome_in_models("unset COLUMNS; " + command);
  CHECK(longest(list) > 100);
  CHECK(longest(outcome_in_models("COLUMNS=60 " + command)) <= 60);
  CHECK(longest(outcome_in_models("COLUMNS=60 " + command + " 17")) <= 60);
  for (const char* other : {"show", "cost-report", "search"}) {
    CAPTURE(other);
    const std::string text = fmt::format("$MTFC {} mnist.json -q --mesh rows:2,cols:2 ", other);
    CHECK(longest(outcome_in_models("COLUMNS=50 " + text)) <
          longest(outcome_in_models("COLUMNS=200 " + text)));
  }
}

TEST_CASE("collectives of repeated blocks are one line with a count, and each of their steps is explained") {
  const std::string command =
      "$MTFC explain transformer_lm.json --mesh rows:2,cols:2 --layout batch:rows,d_ff:cols,heads:cols ";
  const std::string list = outcome_in_models(command);
  CHECK(
      has(list,
          "\nthe collectives that send most, by the numbers of their steps (of several: the first step, and "
          "the\nbytes of all)\n"
          "  step  count  collective\n"));
  CHECK(has(
      list,
      "    99      6  all_reduce of 'layer_{0..5}/ffn/feed_forward/wo/grad' over rows: [d_ff/cols, d_model, "
      "sum over rows] -> [d_ff/cols, d_model], 3,145,728 bytes in all, for mul "
      "'layer_{0..5}/ffn/feed_forward/wo/adamw/mul_1' and 1 more\n"));
  const Json json = Json::parse(outcome_in_models(command + "--format json").substr(8));
  CHECK(json["groups"][2] == Json::parse(R"({"tensors": "layer_{0..5}/ffn/feed_forward/wo/grad",
    "collective": "all_reduce", "axes": ["rows"], "steps": [99, 128, 157, 186, 215, 244],
    "total_bytes_sent_per_device": 3145728})"));
  CHECK(outcome_in_models(command + "128")
            .starts_with("exit 0: mesh rows:2,cols:2, layout batch:rows,d_ff:cols,heads:cols\nstep 128: "
                         "all_reduce of 'layer_4/ffn/feed_forward/wo/grad' over rows: "));
}

// A device sends 2 * 3/4 of the bytes of each gradient.
TEST_CASE("a collective of several tensors is told with all of them, and explained for the largest") {
  const Explained explained(R"({"mtfc": 1, "name": "layers",
    "dims": {"batch": 40, "features": 12, "hidden": 64, "inner": 32, "classes": 3},
    "inputs": {"x": {"dims": ["batch", "features"]}},
    "variables": {"head/w": {"dims": ["inner", "classes"], "init": {"normal": 0.1}},
                  "enc/w1": {"dims": ["features", "hidden"], "init": {"normal": 0.1}},
                  "enc/w2": {"dims": ["hidden", "inner"], "init": {"normal": 0.1}}},
    "ops": [{"out": "a1", "op": "relu", "in": {"op": "einsum", "in": ["x", "enc/w1"], "over": "features"}},
            {"out": "a2", "op": "relu", "in": {"op": "einsum", "in": ["a1", "enc/w2"], "over": "hidden"}},
            {"out": "y", "op": "einsum", "in": ["a2", "head/w"], "over": "inner"},
            {"out": "loss", "op": "reduce_mean", "in": {"op": "square", "in": "y"}}],
    "train": {"loss": "loss", "optimizer": {"kind": "adam", "lr": 0.01}}, "outputs": ["loss"]})",
                            Json::parse(R"({"mesh": [["all", 4]], "rules": [["batch", "all"]]})"));
  const Json listed = explained.reshards();
  REQUIRE(listed.size() == 4);
  CHECK(listed[0]["tensor"] == "enc/w2/grad");
  CHECK(listed[0]["tensors_with_it"] == 2);
  CHECK(!listed[3].contains("tensors_with_it"));  // the loss
  const Json explanation = explained.json(listed[0]["step"].dump());
  CHECK(explanation["reshard"] == listed[0]);
  CHECK(explanation["with"] == Json::array({listed[1], listed[2]}));
  const std::string text = explained.text(listed[0]["step"].dump());
  CHECK(has(text, fmt::format("\nstep {} moves 3 tensors together\n", listed[0]["step"].dump())));
  for (const char* line :
       {"  all_reduce of 'enc/w2/grad' over all: ", "  all_reduce of 'enc/w1/grad' over all: ",
        "  all_reduce of 'head/w/grad' over all: ", " 12,288", " 4,608", " 576",
        "\nwhy, for the largest, 'enc/w2/grad'\n  given by  "})
    CHECK_MESSAGE(has(text, line), text);
  CHECK(has(explained.text(""), ", together with 2 other tensors\n"));
  const std::string report = explained.run("cost-report model.json --layout layout.json");
  CHECK_MESSAGE(has(report, "\n  enc/w2/grad and 2 more  "), report);
}

TEST_CASE("compile and cost-report warn of a large tensor that is gathered whole") {
  const ScratchFolder folder;
  const auto outcome = [&](const std::string& command, const std::string& layout) {
    folder.write("model.json", R"({"mtfc": 1, "name": "sum_of_squares", "dims": {"batch": 64, "io": 65536},
      "inputs": {"x": {"dims": ["batch", "io"]}},
      "ops": [{"out": "squares", "op": "square", "in": ["x"]},
              {"out": "total", "op": "reduce_sum", "in": ["squares"]}],
      "outputs": ["total"]})");
    folder.write("layout.json", layout);
    return outcome_in_models(
        fmt::format("$MTFC {} {} --layout {}", command, folder / "model.json", folder / "layout.json"));
  };
  const std::string split = R"({"mesh": {"all": 4}, "shardings": {"x": {"batch": "all"}}})";
  const auto warning_with = [](const std::string& bytes) {
    return fmt::format(
        ":4:15: warning: /ops/1: in evaluate, 'squares' is gathered whole for reduce_sum 'total': "
        "[batch/all, io] -> [batch, io]; a device sends {} for that, 100 % of all that it sends (add "
        "\"squares\": {{\"batch\": \"all\"}} to \"shardings\" to avoid it)\n",
        bytes);
  };
  const std::string warning = warning_with("12.0 MiB");
  CHECK(has(outcome("compile", split), warning));
  // A device of the profile `local` has 4 GB.
  CHECK(has(outcome("cost-report", split), warning_with("12.6 MB")));
  CHECK(!has(outcome("compile --quiet", split), "warning"));
  CHECK(
      has(outcome("cost-report --quiet --format json", split), "'squares' is gathered whole for reduce_sum"));
  // Whoever annotates a tensor to be whole wants it so.
  const std::string wanted = R"({"mesh": {"all": 4}, "shardings": {"x": {"batch": "all"}, "squares": {}}})";
  CHECK(!has(outcome("compile", wanted), "gathered"));
}

TEST_CASE("variables that the layout shards are gathered without a warning, and a note says how often") {
  const auto warnings_with = [](const std::string& options) {
    std::istringstream lines(
        outcome_in_models("$MTFC cost-report transformer_lm.json --set batch=64 --mesh data:8 " + options));
    std::string warnings;
    for (std::string line; std::getline(lines, line);)
      if (has(line, "gather") && has(line, "; a device sends ")) warnings += line + "\n";
    return warnings;
  };
  for (const char* dtype : {"f32", "bf16"}) {
    const std::string options = fmt::format("--dtype {} --layout batch:data,zero:", dtype);
    const std::string often = warnings_with(options + "3 --microbatches 8");
    CHECK_MESSAGE(
        has(often,
            "note: in train, each of the 8 microbatches gathers the variables that the layout shards; "
            "a device sends "),
        often);
    CHECK_MESSAGE(has(often,
                      "(fewer microbatches send less, and zero:2 gathers the variables once a step and keeps "
                      "them whole)"),
                  often);
    for (const std::string& warnings : {often, warnings_with(options + "3")}) {
      for (const char* variable : {"/wi", "/table", "/bf16", "/again"})
        CHECK_MESSAGE(!has(warnings, fmt::format("{}' is gathered", variable)), warnings);
    }
    CHECK(!has(warnings_with(options + "3"), "microbatches gathers"));
    CHECK(!has(warnings_with(options + "2 --microbatches 8"), "microbatches gathers"));
  }
}

TEST_CASE("what explain can't find is an error") {
  const std::string command = "$MTFC explain mnist.json --mesh all:4 --layout batch:all ";
  CHECK(has(outcome_in_models(command + "hiden"), "exit 2: mtfc: error: train has no tensor 'hiden'"));
  CHECK(has(outcome_in_models(command + "100000"),
            "exit 2: mtfc: error: train has no step 100000 (its steps are 0 to "));
  CHECK(has(outcome_in_models("$MTFC explain transformer_lm.json 'layer_*/self/attention/wq'"),
            "exit 2: mtfc: error: 'layer_*/self/attention/wq' is a pattern, and one tensor is explained at a "
            "time ('layer_0/self/attention/wq' matches it; mtfc show lists all that do)\n"));
  CHECK(has(outcome_in_models("$MTFC explain transformer_lm.json 'layer_*/self/wq'"),
            "exit 2: mtfc: error: 'layer_*/self/wq' is a pattern, and one tensor is explained at a time (no "
            "tensor of train matches it)\n"));
  for (const char* asking : {"explain", "show"})
    CHECK(has(outcome_in_models(fmt::format("$MTFC {} transformer_lm.json layer_0/wq", asking)),
              "exit 2: mtfc: error: train has no tensor 'layer_0/wq' (did you mean "
              "'layer_0/self/attention/wq'?)\n"));
  CHECK(has(outcome_in_models(command + "0"),
            "exit 2: mtfc: error: step 0 of train is not a collective (it makes '"));
  CHECK(has(outcome_in_models("$MTFC explain mnist.json --entry decode"), "exit 2: "));
  CHECK(
      has(outcome_in_models("$MTFC explain mnist.json ''"), "exit 2: mtfc: error: WHAT: the value is empty"));
  CHECK(has(outcome_in_models("$MTFC explain mnist.json h@whole --mesh all:4 --layout hidden:all"),
            "exit 2: mtfc: error: train has no tensor 'h@whole' ('h' is explained with all the shardings in "
            "which"));
  CHECK(has(outcome_in_models("$MTFC explain mnist.json loss"), "\n  none: there is one device\n"));
  CHECK(
      has(outcome_in_models("$MTFC explain - --hardware - </dev/null"),
          "exit 2: mtfc: error: the model and the hardware profile can't both be read from standard input"));
}

// A search may have found the layout for other sizes, which --set gave and the command does not.
TEST_CASE("every command that takes a layout warns of devices that it leaves idle") {
  const ScratchFolder folder;
  const std::string layout = folder.write("layout.json",
                                          R"({"mesh": [["all", 16]], "rules": [["batch", "all"]]})"),
                    idle = "'batch' has 8 elements for the 16 devices along all: 8 of them are idle";
  const auto said = [&](const std::string& command, const std::string& options) {
    return outcome_in_models(fmt::format("$MTFC {} transformer_lm.json --set layers=1 --layout '{}' {}",
                                         command, layout, options));
  };
  for (const char* command :
       {"check", "compile", "cost-report", "explain", "show", "run --simulate --steps 0"}) {
    CAPTURE(command);
    CHECK(said(command, "").find("warning: " + idle) != std::string::npos);
    CHECK(said(command, "--set batch=16").find(idle) == std::string::npos);
    CHECK(said(command, "-q").find(idle) == std::string::npos);
  }
  const std::string compared = outcome_in_models(fmt::format(
      "$MTFC diff transformer_lm.json --set layers=1 batch:a+b '{}' --mesh a:8,b:1 --mesh all:16", layout));
  CHECK(compared.find("warning: B: " + idle) != std::string::npos);
  CHECK(compared.find("warning: A: ") == std::string::npos);
}

}  // namespace mtfc::explain_test
