// `mtfc search` as people use it: its output and files, and how other commands use them.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "cmd/testing/running_command.h"
#include "cmd/testing/shell.h"
#include "core/testing/checkout.h"
#include "core/testing/scratch_folder.h"
#include "core/testing/text.h"

namespace mtfc::search_test {
namespace {

using Json = nlohmann::json;

Json json_of(const std::string& command) {
  const std::string text = outcome_in_models(command + " -q --format json");
  CAPTURE(text);
  REQUIRE(text.starts_with("exit 0: "));
  return Json::parse(text.substr(8));
}

const std::string kSearch = "$MTFC search mnist.json ";

}  // namespace

TEST_CASE("the layout that is written costs what the search has said") {
  const ScratchFolder folder;
  const std::string layout = folder / "best.json";
  const Json found = json_of(kSearch + "--mesh a:2,b:2 -o " + layout);
  CHECK(found["proved"] == true);
  CHECK(found["layouts"].size() == 5);
  const Json& best = found["layouts"][0];
  const Json report =
      Json::parse(outcome_in_models("$MTFC cost-report mnist.json -q --format json --layout " + layout)
                      .substr(8))["layouts"][0];
  CHECK(report["mesh"] == best["mesh"]);
  CHECK(report["layout"] == best["layout"]);
  CHECK(report["time"]["step_s"] == best["time"]["step_s"]);
  CHECK(report["memory"]["peak_bytes_per_device"] == best["memory_bytes_per_device"]);
  for (const char* rules : {"batch:a+b", "hidden:a", "batch:a,hidden:b"}) {
    const Json other = Json::parse(
        outcome_in_models(
            fmt::format("$MTFC cost-report mnist.json -q --format json --mesh a:2,b:2 --layout {}", rules))
            .substr(8))["layouts"][0];
    CHECK(best["time"]["step_s"] <= other["time"]["step_s"]);
  }
  CHECK(outcome_in_models("$MTFC run mnist.json --simulate -q --layout " + layout).starts_with("exit 0: "));
  const Json alone = Json::parse(outcome_in_models(kSearch + "--mesh a:2,b:2 -o -").substr(8));
  CHECK(alone == Json::parse(contents(layout)));
}

TEST_CASE("a layout that is found says so where it is used for other sizes") {
  const ScratchFolder folder;
  const std::string layout = folder / "best.json",
                    searches[] = {"--mesh a:2", "--mesh a:2 --annotations", "--devices 2 --fit"};
  for (const std::string& search : searches) {
    CAPTURE(search);
    const std::string found = outcome_in_models(kSearch + search + " -q --set batch=64 -o " + layout);
    REQUIRE_MESSAGE(found.starts_with("exit 0: "), found);
    const Json sizes = Json::parse(contents(layout))["found_for"]["sizes"];
    CHECK(sizes["batch"] == 64);
    CHECK(sizes["hidden"] == 1024);
    for (const char* command : {"check", "cost-report", "compile", "explain"}) {
      const std::string used = fmt::format("$MTFC {} mnist.json --layout {} --set batch=", command, layout);
      CHECK(
          has(outcome_in_models(used + "16"),
              "note: /found_for: the layout was found for batch=64, and the model has batch=16 (search again "
              "for these sizes, or give those with --set)\n"));
      CHECK(!has(outcome_in_models(used + "16 -q"), "found for"));
      CHECK(!has(outcome_in_models(used + "64"), "the layout was found for"));
    }
    CHECK(!has(outcome_in_models("$MTFC check mnist_conv.json --layout " + layout),
               "the layout was found for"));
  }
  // A single sequence that is generated is no other size of the model.
  const std::string generate =
      "$MTFC generate char_lm.json --set layers=1 --prompt a --length 2 --layout " +
      folder.write("lm.json",
                   R"({"mesh": {"p": 1}, "found_for": {"model": "char_lm", "sizes": {"batch": 16}}})");
  CHECK(!has(outcome_in_models(generate), "found for"));
  CHECK(has(outcome_in_models(generate + " --set batch=4"), "the layout was found for batch=16"));
}

TEST_CASE("a layout with a proposed order of devices is written with it") {
  const ScratchFolder folder;
  const std::string layout = folder / "best.json";
  // Nodes of two devices, between which sending is slow; the mesh has its axes the wrong way round.
  std::ofstream(folder / "nodes.json") << R"({"name": "nodes", "flops": {"f32": 1e11}, "memory_bytes": 4e9,
    "memory_bandwidth": 1e10, "axes": {"*": {"latency_s": 1e-4, "bytes_per_s": 1e7}},
    "topology": {"kind": "two_level", "devices_per_node": 2, "inside": {"latency_s": 1e-6, "bytes_per_s": 1e10}}})";
  const std::string hardware = " --hardware " + folder / "nodes.json";
  const Json found = json_of(kSearch + "--mesh a:2,b:3 --layout batch:a,hidden:b -o " + layout + hardware);
  const Json& best = found["layouts"][0];
  CHECK(best["device_order"] == Json({0, 2, 4, 1, 3, 5}));
  const Json report = Json::parse(
      outcome_in_models("$MTFC cost-report mnist.json -q --format json --layout " + layout + hardware)
          .substr(8))["layouts"][0];
  CHECK(report["device_order"] == best["device_order"]);
  CHECK(report["time"]["step_s"] == best["time"]["step_s"]);
}

TEST_CASE("the paper's Transformer gets a layout as good as the paper's, of all meshes of two axes") {
  const std::string model =
      "transformer_lm.json --hardware tpu-v2 --set batch=256 --set length=256 --set d_model=1024 --set "
      "d_ff=262144 --set heads=256 --set d_kv=256 --set layers=6 --set vocab=32768 ";
  const Json paper = Json::parse(
      outcome_in_models("$MTFC cost-report -q " + model +
                        "--mesh rows:16,cols:32 --layout batch:rows,vocab:cols,d_ff:cols,heads:cols "
                        "--format json")
          .substr(8))["layouts"][0];
  const Json found = json_of("$MTFC search " + model + "--devices 512 --mesh 'rows:*,cols:*'");
  CHECK(found["layouts"][0]["time"]["step_s"] <= paper["time"]["step_s"]);
  CHECK(found["counts"]["meshes"] == 5);
}

TEST_CASE("a limit of memory changes the answer, and is the hardware's unless given") {
  const Json free = json_of(kSearch + "--mesh a:2,b:2 --hardware local");
  const int64_t memory = free["layouts"][0]["memory_bytes_per_device"];
  const Json tight = json_of(kSearch + fmt::format("--mesh a:2,b:2 --memory-limit {}", memory - 1));
  CHECK(tight["layouts"][0]["layout"] != free["layouts"][0]["layout"]);
  CHECK(tight["layouts"][0]["memory_bytes_per_device"] < memory);
  CHECK(tight["faster_but_too_large"]["layout"] == free["layouts"][0]["layout"]);
  CHECK(free["memory_limit"] == 4000000000);
  const std::string none = outcome_in_models(kSearch + "--mesh a:4 --memory-limit 100kB");
  CHECK(
      none.starts_with("exit 2: mtfc: error: no layout fits into 100 kB per device, and none was found to "
                       "fit by computing activations again: the smallest, a:4 "));
  CHECK(has(none,
            " more (use more devices or another --memory-limit; --fit tries microbatches, stages of ZeRO and "
            "computing again)\n"));
}

// On the first of these meshes, the axis of the batch is 1 long.
TEST_CASE("a search over rules refuses a stage of ZeRO on every mesh, and says which command tries it") {
  for (const char* mesh : {"--mesh data:2,model:4", "--mesh 'data:*,model:*' --devices 8"})
    for (const int stage : {1, 2, 3}) {
      CAPTURE(mesh);
      const std::string text = outcome_in_models(
          fmt::format("$MTFC search transformer_lm.json {} --layout batch:data,zero:{}", mesh, stage));
      CHECK(text.starts_with("exit 2: mtfc: error: search compares layouts of rules for all tensors"));
      CHECK(has(text, "search --fit tries stages of ZeRO"));
    }
}

TEST_CASE("a model that is too large for the invented core is told which profiles have more memory") {
  const std::string large = "$MTFC search transformer_lm.json --set d_ff=262144 --set layers=8 ";
  const std::string refused = outcome_in_models(large + "--mesh all:1 ");
  CAPTURE(refused);
  CHECK(refused.starts_with("exit 2: mtfc: error: no layout fits into 4 GB per device"));
  CHECK(has(refused, "('local' is an invented core; it fits a device of --hardware a100-4"));
  CHECK(has(refused, "a100-80g (83 GB), "));
  CHECK(has(refused, "h100 (83 GB), "));
  CHECK(has(refused, " GB); use more devices"));
  CHECK_FALSE(has(refused, "tpu-v3"));
  const std::string nothing = outcome_in_models(large + "--fit --devices 1");
  CHECK(has(nothing, "; 'local' is an invented core; it fits a device of --hardware a100-4"));
  CHECK(has(nothing, ", tpu-v3 (16 GB)\n"));
  CHECK_FALSE(has(outcome_in_models(large + "--fit --devices 1 --memory-limit 1GB"), "invented"));
}

TEST_CASE("a number of devices means meshes of one axis and of two") {
  const Json found = json_of(kSearch + "--devices 6 --top 100");
  CHECK(found["counts"]["meshes"] == 2);  // all:6, rows:2,cols:3
  CHECK(json_of(kSearch + "--devices 6 --hardware ethernet-cluster --top 1")["counts"]["meshes"] == 3);
  CHECK(json_of(kSearch + "--devices 7")["counts"]["meshes"] == 1);
  CHECK(json_of(kSearch + "--devices 7 --no-uneven")["layouts"][0]["layout"] == Json({{"cols", {"all"}}}));
}

TEST_CASE("rules that are given stay") {
  const Json found = json_of(kSearch + "--mesh a:2,b:2 --layout batch:a --top 3");
  for (const Json& one : found["layouts"]) CHECK(one["layout"]["batch"] == Json({"a"}));
  const Json file = json_of(kSearch + "--layout layouts/both.json");
  CHECK(file["layouts"][0]["layout"]["hidden"] == Json({"cols"}));
  CHECK(outcome_in_models(kSearch + "--mesh a:2 --layout batch:a,hidden:a")
            .starts_with("exit 2: mnist.json:16:38: error: /ops/0/in: the rules batch:a and hidden:a "));
}

TEST_CASE("what the search prints") {
  const std::string brief = outcome_in_models(kSearch + "--mesh a:2,b:2 --top 2");
  CHECK(has(brief, "tokens/s"));
  CHECK_FALSE(has(brief, "einsum, useful"));
  const size_t verdict = brief.rfind("\n\n");
  REQUIRE(verdict != std::string::npos);
  CHECK(brief.substr(verdict).starts_with("\n\nproved: no layout is faster than "));
  const std::string text = outcome_in_models(kSearch + "--mesh a:2,b:2 --top 2 --details");
  CHECK(text.starts_with("exit 0: mnist, train: 2 layouts, ordered by step time on local, within 1 %"));
  CHECK(has(text, "\nhow the others differ from [1]\n  [2] +"));
  CHECK(has(text, " more products ("));
  CHECK(has(text, "\nsearched 3,125 rule sets on 1 mesh in "));
  CHECK(has(text, ": 85 legal (42 mirror images of\nothers, ") !=
        has(text, ": 85 legal (42 mirror images of others, "));
  CHECK(outcome_in_models(kSearch + "--mesh a:2 --format csv --top 3")
            .starts_with("exit 0: number,model,mesh,layout,"));
}

// Hundreds of thousands of layouts, and the interrupt comes as soon as a first one is the best.
TEST_CASE("Ctrl-C ends a search with the best so far") {
  const ScratchFolder folder;
  RunningCommand search(folder, fmt::format("env MTFC_TERMINAL=2 $MTFC search {}/models/gpt2.json --set "
                                            "layers=2 --devices 16 --mesh 'a:*,b:*,c:*' --top 1000 "
                                            "--format json",
                                            kSourceFolder));
  REQUIRE(eventually([&] { return search.ended() || has(folder.read("err"), ", best "); }));
  search.interrupt();
  CHECK(search.exit_code() == 130);
  const std::string said = folder.read("err");
  CAPTURE(said);
  CHECK(has(said, "mtfc: interrupted by SIGINT: "));
  const Json found = Json::parse(folder.read("out"));
  CHECK(found["complete"] == false);
  CHECK(!found["layouts"].empty());
  CHECK(found["counts"]["not_looked_at"] > 0);
  CHECK(found["lower_bound_s"] <= found["shortest_step_s"]);
}

const std::string kByHand = fmt::format("$MTFC search {}/testdata/search/", kSourceFolder);

TEST_CASE("a convolution written by hand, with many dimensions of which few matter, is searched to the end") {
  const Json found = json_of(kByHand + "conv_by_hand.json --mesh a:4,b:4");
  CHECK(found["proved"] == true);
  CHECK(found["complete"] == true);
  CHECK(found["gap"] == 0);
  CHECK(found["counts"]["rule_sets"] == 9765625);  // five options for each of ten dimensions
  CHECK(found["lower_bound_s"] == found["shortest_step_s"]);
  // The channels of the images are few; what matters is the batch.
  CHECK(found["layouts"][0]["time"]["step_s"] <= 1.01 * found["shortest_step_s"].get<double>());
}

TEST_CASE("a search with a time limit says how much faster any other layout could be") {
  const ScratchFolder folder;
  const std::string text = outcome_in_models(
      kByHand + "unet_by_hand.json --devices 16 --time-limit 3 --details -o " + (folder / "best.json"));
  CAPTURE(text);
  CHECK(text.starts_with("exit 0: unet_by_hand, train: "));
  CHECK(text.find("exit 0: unet_by_hand, train: the best ") == 0);
  CHECK(has(text, " layouts tried, ordered by"));
  CHECK(has(text, "too many to count"));
  CHECK(
      has(text, "is not proved to be the best"));  // how much faster another could be may take longer to find
  CHECK(has(contents(folder / "best.json"), "Not proved to be the best"));
  CHECK(has(outcome_in_models("MTFC_TERMINAL=2 " + kSearch + "--mesh a:2 -o " + (folder / "two.json")),
            "mtfc: wrote '" + (folder / "two.json") + "'\n"));
  const std::string stopped = outcome_in_models(kSearch + "--mesh a:2,b:2 --time-limit 0 --format json");
  CAPTURE(stopped);
  REQUIRE(has(stopped, "\n}\nmtfc: stopped: "));
  const Json at_once = Json::parse(stopped.substr(8, stopped.rfind('}') - 7));
  CHECK(at_once["complete"] == false);
  CHECK(at_once["proved"] == false);
  CHECK(at_once["gap"] == 1);
  CHECK(at_once["layouts"][0]["layout"] == Json({{"batch", {"a", "b"}}}));
  CHECK(at_once["lower_bound_s"] <= at_once["shortest_step_s"]);
  CHECK(outcome_in_models(kSearch + "--devices 1 --time-limit 0")
            .starts_with("exit 0: mnist, train: the best of 1 layout tried\n"));
  const Json all = json_of(kSearch + "--mesh a:2,b:2");
  CHECK(at_once["lower_bound_s"] <= all["shortest_step_s"]);
  CHECK(outcome_in_models(kSearch + "--mesh a:2 --time-limit x").starts_with("exit 2: "));
}

TEST_CASE("a layout that needs fewer devices comes first, and says so") {
  const std::string tiny = "$MTFC search byte_mlp.json --hardware ethernet-cluster ";
  const std::string said = outcome_in_models("COLUMNS=400 " + tiny + "--devices 64");
  CAPTURE(said);
  CHECK(has(said, "\nproved: no layout of 64 devices is faster than "));
  CHECK(has(said, "; 16 devices are as fast as 64"));
  const Json found = json_of(tiny + "--devices 64");
  const Json& fewer = found["as_fast_on_fewer_devices"];
  CHECK(fewer["devices"] < 64);
  CHECK(found["layouts"][0]["devices"] == fewer["devices"]);
  CHECK(found["layouts"][0]["time"]["step_s"] <= 1.011 * found["shortest_step_s"].get<double>());
  // Whoever names a mesh gets layouts for it.
  const Json named = json_of(tiny + "--mesh rows:64");
  CHECK(named["layouts"][0]["devices"] == 64);
}

// The work of a search does not grow with the number of devices.
TEST_CASE("a search over very many devices stops in time") {
  const std::string said = outcome_in_models("timeout 60 " + kSearch + "--devices 1000000000 --time-limit 1");
  CAPTURE(said);
  CHECK(said.starts_with("exit 0: mnist, train: "));
}

TEST_CASE("a search over annotations that is stopped has the best of the plain layouts") {
  const std::string search = "$MTFC search transformer_lm.json --annotations --mesh rows:2,cols:2,planes:2 ";
  const Json found = json_of(search + "--time-limit 0 --set layers=1");
  CHECK(found["complete"] == false);
  CHECK(found["bound"].is_null());
  CHECK(found["shardings"].empty());
  CHECK(found["cost"] > 0);
  CHECK(has(outcome_in_models("COLUMNS=400 " + search + "--time-limit 0 --set layers=1"),
            "others may cost less"));
}

TEST_CASE("options that don't go together") {
  const auto refusal = [](const std::string& text) { return "exit 2: " + text + "\n"; };
  CHECK(
      outcome_in_models(kSearch) ==
      refusal("mtfc: error: there is no mesh to search (give --devices N, or --mesh, as in rows:2,cols:4)"));
  CHECK(
      outcome_in_models(kSearch + "--devices 4 --layout batch:a") ==
      refusal(
          "mtfc: error: --layout needs named axes for its rules, and --devices alone names none (name them, "
          "as in --mesh rows:*,cols:*)"));
  CHECK(outcome_in_models(kSearch + "--mesh a:2 --devices 4") ==
        refusal("mtfc: error: the mesh a:2 has 2 devices, not 4 (leave a size open with *, or leave out "
                "--devices)"));
  CHECK(outcome_in_models(kSearch + "--mesh a:2 --dims bathc,hidden") ==
        refusal("--dims: error: the model has no dimension 'bathc' (did you mean 'batch'?)"));
  CHECK(outcome_in_models(kSearch + "--mesh a:2 --layout batch:a --dims batch") ==
        refusal("--dims: error: the dimension 'batch' can't be searched: --layout fixes it (name it in only "
                "one of the two)"));
  CHECK(outcome_in_models(kSearch + "--mesh a:2 -o best.txt") ==
        refusal("mtfc: error: the layout file 'best.txt' must be called NAME.json (--layout reads any other "
                "name as a list of rules)"));
  CHECK(outcome_in_models(kSearch + "--mesh a:2 --entry decode") ==
        refusal("mtfc: error: the model has no entry point 'decode' (its file has no \"decode\")"));
  CHECK(outcome_in_models(kSearch + "--mesh a:2 -o /nowhere/best.json")
            .starts_with("exit 1: mtfc: error: cannot write "));
}

}  // namespace mtfc::search_test
