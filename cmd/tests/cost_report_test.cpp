// cost-report over several layouts: sweeps, rankings, impossible layouts, and its formats; and the effect of
// device_order on a run.

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <string>

#include "cmd/testing/command_results.h"
#include "cmd/testing/shell.h"
#include "core/testing/scratch_folder.h"
#include "core/testing/text.h"
#include "formats/testing/drawn_page.h"

namespace mtfc::cost_report_test {
namespace {

using Json = nlohmann::json;

// The best layout of a page.
Json first_layout(const std::string& page) {
  return page_data(page)["layouts"][0];
}

}  // namespace

TEST_CASE("a mesh with open sizes is tried in every way") {
  const std::string sweep =
      "$MTFC cost-report mnist.json --devices 6 --mesh 'rows:*,cols:*' --layout "
      "batch:rows,hidden:cols ";
  const std::string table = outcome_in_models(sweep);
  CHECK(table.starts_with("exit 0: mnist, train: 4 layouts, "));
  CHECK(has(table, "\nlayout batch:rows,hidden:cols\n"));
  const Json reports = Json::parse(outcome_in_models(sweep + "--format json").substr(8))["layouts"];
  REQUIRE(reports.size() == 4);
  CHECK(reports[2]["mesh"].dump() == R"([["rows",3],["cols",2]])");
  CHECK(outcome_in_models("$MTFC cost-report mnist.json --devices 6 --layout batch:a") ==
        "exit 2: mtfc: error: --devices needs a mesh (as in --mesh rows:*,cols:*)\n");
  CHECK(outcome_in_models("$MTFC cost-report mnist.json --mesh 'a:*'") ==
        "exit 2: mtfc: error: the mesh a:* leaves sizes open (set the number of devices with --devices N)\n");
}

// The efficiency counts two operations for each multiplication with addition that the model itself needs.
TEST_CASE("the efficiency counts the same work in every layout of a causal Transformer") {
  constexpr double kLayers = 2, kBatch = 8, kLength = 64, kModel = 256, kHidden = 1024, kVocab = 4096,
                   kHeads = 4, kHead = 64, kPeak = 22.5e12;
  const double weights = kLayers * (4 * kModel * kHeads * kHead + 2 * kModel * kHidden) + kModel * kVocab;
  // A weight is multiplied once in the forward pass, and for two gradients in the backward pass. Two products of an
  // attention are in the forward pass and five in the backward pass, which computes the scores again.
  const double pairs = kLayers * kBatch * kHeads * kLength * (kLength + 1) / 2;
  const double flops = 2 * (3 * kBatch * kLength * weights + 7 * pairs * kHead);
  const std::string command =
      "$MTFC cost-report transformer_lm.json --set layers=2 --hardware tpu-v2 --format json --mesh "
      "rows:4,cols:4 ";
  const std::string layouts =
      "--layout batch:rows --layout heads:cols --layout batch:rows,d_ff:cols --layout "
      "batch:rows,heads:cols,d_ff:cols,vocab:cols --layout length:rows,memory_length:rows,d_ff:cols";
  std::set<double> duplications;
  for (const char* way : {"", "--propagate "}) {
    const Json reports = Json::parse(outcome_in_models(command + way + layouts).substr(8))["layouts"];
    REQUIRE(reports.size() == 5);
    for (const Json& report : reports) {
      CAPTURE(report.dump());
      duplications.insert(report["flops"]["duplication"].get<double>());
      const double counted =
          report["time"]["efficiency"].get<double>() * report["time"]["step_s"].get<double>() * 16 * kPeak;
      CHECK(counted == doctest::Approx(flops).epsilon(1e-9));
    }
  }
  CHECK(*duplications.rbegin() > 1.5);
  CHECK(duplications.size() > 3);
}

TEST_CASE("a layout that is not legal has its reason in a comparison, and is an error alone") {
  const std::string mesh = "$MTFC cost-report mnist.json --mesh a:2 --layout batch:a,hidden:a ";
  CHECK(outcome_in_models(mesh).starts_with(
      "exit 2: mnist.json:16:38: error: /ops/0/in: the rules batch:a and hidden:a "));
  const std::string both = outcome_in_models(mesh + "--layout batch:a");
  CHECK(both.starts_with("exit 0: mnist, train: 2 layouts, "));
  CHECK(has(both, "[1] batch:a,hidden:a\n         not possible: the rules batch:a and hidden:a split"));
  const Json reports =
      Json::parse(outcome_in_models(mesh + "--layout batch:a --format json").substr(8))["layouts"];
  CHECK(reports[0]["not_possible"].get<std::string>().starts_with("the rules batch:a and hidden:a split"));
  CHECK(reports[1]["devices"] == 2);
  // A dimension that the model does not have is a mistake in any case.
  CHECK(outcome_in_models(mesh + "--layout bathc:a")
            .starts_with("exit 2: --layout:1:1: error: the model has no dimension"));
}

TEST_CASE("rules in conflict beside annotations have their reason in a comparison, and end no other layout") {
  const ScratchFolder folder;
  const std::string model = folder.write("model.json", R"({"mtfc": 1, "dims": {"a": 4, "c": 4},
 "inputs": {"x": {"dims": ["a", "c"]}}, "ops": [{"out": "y", "op": "neg", "in": "x"}], "outputs": ["y"]})");
  const std::string layout = folder.write(
      "layout.json", R"({"mesh": [["p", 2]], "rules": [["a", "p"], ["c", "p"]], "shardings": {"y": {}}})");
  const std::string command =
      fmt::format("MALLOC_PERTURB_=165 $MTFC cost-report '{}' --mesh p:2 --layout '{}' ", model, layout);
  CHECK(
      outcome_in_models(command) ==
      fmt::format("exit 2: {}:2:18: error: /inputs/x: the rules a:p and c:p split tensor 'x', an input, "
                  "twice over the same axis 'p' (give 'a' or 'c' another axis, or leave one of them whole)\n",
                  model));
  const Json reports =
      Json::parse(outcome_in_models(command + "--layout a:p --format json").substr(8))["layouts"];
  CHECK(reports[0]["not_possible"] ==
        "the rules a:p and c:p split tensor 'x', an input, twice over the same axis 'p'");
  CHECK(reports[1]["devices"] == 2);
}

TEST_CASE("the parts of the memory at the peak add up to it") {
  for (const char* model :
       {"two_layer.json --set batch=3 --set io=5 --set hidden=7", "mnist.json", "char_lm.json --entry decode",
        "byte_mlp.json --mesh a:2 --layout batch:a", "transformer_lm.json --set layers=2 --entry evaluate"}) {
    CAPTURE(model);
    const std::string command = fmt::format("$MTFC cost-report {} ", model);
    const Json memory =
        Json::parse(outcome_in_models(command + "--format json").substr(8))["layouts"][0]["memory"];
    int64_t together = 0;
    for (const char* part : {"variables", "optimizer_state", "caches", "variable_copies", "inputs",
                             "activations_at_peak", "gradients", "workspace", "alignment_and_gaps"}) {
      CHECK(memory[part].get<int64_t>() >= 0);
      together += memory[part].get<int64_t>();
    }
    CHECK(together == memory["peak_bytes_per_device"].get<int64_t>());
    CHECK(has(outcome_in_models(command), "\n  alignment and gaps "));
    const std::string csv = outcome_in_models(command + "--format csv");
    CHECK(has(csv, fmt::format(",{},", memory["alignment_and_gaps"].get<int64_t>())));
    const ScratchFolder folder;
    CHECK(outcome_in_models(command + "-o " + folder / "r.html") == "exit 0: ");
    CHECK(first_layout(contents(folder / "r.html"))["details"]["memory"]["peak_bytes_per_device"] ==
          together);
  }
}

TEST_CASE("variables of a group are counted apart") {
  const std::string command =
      "$MTFC cost-report moe_lm.json --mesh a:2 --layout batch:a,experts:a --propagate --set d_model=16 "
      "--set d_ff=24 "
      "--set experts=6 --set layers=2 --set vocab=64 ";
  const Json report = Json::parse(outcome_in_models(command + "--format json").substr(8))["layouts"][0];
  constexpr int64_t kWeights = 6 * 2 * 16 * 24, kBytes = 4 * kWeights / 2;
  CHECK(report["parameters"]["groups"]["experts"] == kWeights);
  CHECK(report["memory"]["groups"]["experts"]["variables"] == kBytes);
  CHECK(report["memory"]["groups"]["experts"]["optimizer_state"] == 2 * kBytes);
  const std::string table = outcome_in_models(command);
  CHECK(has(table, "    of which experts "));
  CHECK(has(table, " 9.22 kB\n"));
  CHECK(has(table, " 18.4 kB\n"));
  const ScratchFolder folder;
  CHECK(outcome_in_models(command + "-o " + folder / "r.html") == "exit 0: ");
  const Json details = first_layout(contents(folder / "r.html"))["details"];
  CHECK(details["memory"]["groups"]["experts"]["variables"] == kBytes);
  CHECK(details["step"]["layers"][0][0] == "variables and state of experts");
  // Programs keep the group.
  CHECK(outcome_in_models("$MTFC compile moe_lm.json --set layers=2 -o " + folder / "program.json") ==
        "exit 0: ");
  CHECK(has(contents(folder / "program.json"), "\"group\": \"experts\""));
}

TEST_CASE("the time of each part of a model is shown beside the least at peak rates") {
  const std::string command =
      "$MTFC cost-report transformer_lm.json -q --mesh a:2 --layout batch:a --set layers=3 --hardware "
      "tpu-v2 ";
  const std::string table = outcome_in_models(command + "--parts 2");
  CHECK(has(table, "\ntime by part\n  part "));
  CHECK(has(table, "\n  layer_*/ffn "));
  CHECK(has(table, "\n  layer_*/self "));
  CHECK_FALSE(has(table, "layer_0/ffn "));
  CHECK_FALSE(has(outcome_in_models(command), "time by part"));
  CHECK(outcome_in_models(command + "--parts 2 --format json")
            .starts_with("exit 2: mtfc: error: --parts is for tables and pages"));
  const ScratchFolder folder;
  CHECK(outcome_in_models(command + "--parts 2 -o " + folder / "r.html") == "exit 0: ");
  const Json block = first_layout(contents(folder / "r.html"))["details"]["totals"]["blocks"][0];
  CHECK(block[0] == "layer_{0..2}/ffn");
  const std::string figures =
      fmt::format("   {}   {}\n", block[4][1].get<std::string>(), block[5][1].get<std::string>());
  CHECK_MESSAGE(has(table, figures), figures);
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
    const Json found = report_of(
        "moe_encdec.json", fmt::format("--set experts={} --set layers={} --set d_model=1024 --set d_ff=8192 "
                                       "--set heads=16 --set d_kv=128 --set vocab=32768",
                                       size.experts, size.layers))["parameters"];
    CHECK(found["groups"]["experts"] == size.weights);
    const double dense = static_cast<double>(found["count"].get<int64_t>() - size.weights);
    CHECK(dense > 0.1e9);
    CHECK(dense < 1.0e9);
  }
}

// The largest language model of the Mesh-TensorFlow paper has 4.9 billion parameters.
TEST_CASE("layouts that do not fit into a device come last, and the best one fits") {
  const std::string command =
      "$MTFC cost-report transformer_lm.json --set d_model=1024 --set d_ff=262144 --set heads=256 --set "
      "d_kv=256 "
      "--set vocab=32768 --set batch=512 --set length=256 --hardware tpu-v2 --mesh rows:512 --layout "
      "batch:rows "
      "--mesh rows:16,cols:32 --layout batch:rows,vocab:cols,d_ff:cols,heads:cols ";
  const std::string table = outcome_in_models(command);
  CHECK(has(table, "best [2] rows:16,cols:32"));
  CHECK(table.find("[2] rows") < table.find("[1] rows"));
  CHECK(has(table, "\n1 layout does not fit into the 8 GB that a device may use\n"));
  const Json reports = Json::parse(outcome_in_models(command + "--format json -q").substr(8))["layouts"];
  CHECK(reports[0]["memory"]["fits"] == false);
  CHECK(reports[0]["memory"]["excess_bytes"].get<int64_t>() ==
        reports[0]["memory"]["peak_bytes_per_device"].get<int64_t>() - 8'000'000'000);
  CHECK(reports[1]["memory"]["fits"] == true);
  CHECK(reports[1]["memory"]["excess_bytes"] == 0);
  const std::string csv = outcome_in_models(command + "--format csv -q");
  CHECK(has(csv, ",8000000000,no,"));
  CHECK(has(csv, ",8000000000,yes,0,"));
}

TEST_CASE("a layout that does not fit is a warning, which scripts can refuse") {
  const std::string large = "transformer_lm.json --set d_ff=262144 --set layers=8 --mesh all:2 --layout ";
  const std::string told = outcome_in_models("$MTFC cost-report " + large + "batch:all");
  CHECK(told.starts_with("exit 0: "));
  CHECK(has(told, "mtfc: warning: the layout needs "));
  CHECK(has(told, " more than the 4 GB that it may use of local ('local' is an invented core; "));
  CHECK(has(told, "a100-80g (83 GB)"));
  CHECK_FALSE(has(told, "xeon-amx"));  // has 4.5 GB
  const std::string two =
      outcome_in_models("$MTFC cost-report " + large + "batch:all --layout batch:all,zero:3");
  CHECK(has(two, "mtfc: warning: 2 of 2 layouts do not fit; of these, the smallest needs "));
  const std::string deny = " -q --deny warnings";
  CHECK(outcome_in_models("$MTFC cost-report " + large + "batch:all" + deny).starts_with("exit 2: "));
  CHECK(outcome_in_models("$MTFC cost-report mnist.json" + deny).starts_with("exit 0: "));
  CHECK(outcome_in_models("$MTFC check " + large + "batch:all --hardware tpu-v2" + deny)
            .starts_with("exit 2: mtfc: error: the layout needs "));
  CHECK(outcome_in_models("$MTFC check mnist.json --hardware tpu-v2" + deny) == "exit 0: ");
  // Memory is said in the units of the memory that it stands beside, here powers of 1000.
  for (const char* command : {"check --hardware tpu-v2 ", "compile --memory-limit 80GB -o /dev/null "}) {
    const std::string noted = outcome_in_models(fmt::format("$MTFC {}{}batch:all", command, large));
    CAPTURE(noted);
    CHECK(has(noted, "optimizer state, which takes 8.62 GB ("));
    CHECK_FALSE(has(noted, "iB"));
  }
  const std::string colored =
      outcome_in_models("MTFC_TERMINAL=12 $MTFC cost-report -q " + large + "batch:all");
  CHECK(has(colored, "\033[1;31m  of a device's memory"));
  CHECK_FALSE(has(told, "\033["));
}

TEST_CASE("ZeRO and propagation in a line are what they are in a file") {
  const auto figures = [](const std::string& layout) {
    const std::string text = outcome_in_models("$MTFC cost-report mnist.json -q --format json " + layout);
    REQUIRE_MESSAGE(text.starts_with("exit 0: "), text);
    const Json report = Json::parse(text.substr(8))["layouts"][0];
    return std::pair(report["memory"], report["communication"]);
  };
  for (const char* stage : {"1", "2", "3"})
    CHECK(figures(std::string("--mesh all:2 --optimizer adam --layout batch:all,zero:") + stage) ==
          figures(fmt::format("--optimizer adam --layout layouts/zero_{}.json", stage)));
  CHECK(figures("--mesh all:2 --layout batch:all,zero:0") == figures("--mesh all:2 --layout batch:all"));
  CHECK(figures("--mesh all:2 --layout batch:all,propagate") ==
        figures("--mesh all:2 --layout batch:all --propagate"));
  const std::string table = outcome_in_models(
      "$MTFC cost-report mnist.json -q --mesh all:2 --layout batch:all,zero:1 --layout batch:all,zero:3");
  CHECK(has(table, "] batch:all, ZeRO 1 over all "));
  CHECK(has(table, "] batch:all, ZeRO 3 over all "));
  CHECK(outcome_in_models("$MTFC cost-report mnist.json --mesh all:2 --layout hidden:all,zero:3") ==
        "exit 2: --layout:1:17: error: ZeRO spreads what devices that share the batch hold copies of, but no "
        "rule "
        "splits 'batch' (split it, as in batch:AXIS,zero:3)\n");
  // Without it, two layouts that are called the same would differ for no reason that anything says.
  CHECK(has(outcome_in_models("$MTFC cost-report mnist.json --mesh rows:1,cols:4 --layout "
                              "batch:rows,hidden:cols,zero:3 --layout batch:rows,hidden:cols"),
            "note: ZeRO has nothing to split on rows:1,cols:4: one device has the whole of 'batch'\n"));
  CHECK_FALSE(has(outcome_in_models("$MTFC cost-report mnist.json --mesh rows:2,cols:2 --layout "
                                    "batch:rows,hidden:cols,zero:3"),
                  "nothing to split"));
}

TEST_CASE("what nodes send is counted for up to 65,536 devices, and a note says so for more") {
  const auto outcome = [](const char* rows) {
    return outcome_in_models(
        fmt::format("($MTFC cost-report mnist.json --set batch=131072 --mesh a:{},b:16 --layout batch:a "
                    "--ranks-per-node 16 --format json | grep -oE '\"nodes\":[0-9]*|.* is not counted.*')",
                    rows));
  };
  CHECK(outcome("4096") == "exit 0: \"nodes\":4096\n");
  const std::string note =
      "what nodes send to each other is not counted: a:4097,b:16 has 65,552 devices, "
      "more than 65,536";
  const std::string beyond = outcome("4097");
  CHECK(has(beyond, "mtfc: note: " + note + "\n"));  // to a person
  CHECK(has(beyond, "\"" + note + "\""));            // in the report
  CHECK(!has(beyond, "\"nodes\""));
}

TEST_CASE("a comparison and a saved program have advice too") {
  const std::string layouts = "mnist.json --set batch=1 --mesh dp:4 --layout batch:dp --layout hidden:dp ";
  const std::string compared = outcome_in_models("$MTFC cost-report " + layouts);
  CHECK(has(compared, "mtfc: warning: [1] 'batch' has 1 element for the 4 devices along dp"));
  CHECK_FALSE(has(compared, "warning: [2]"));
  const Json reports =
      Json::parse(outcome_in_models("$MTFC cost-report -q --format json " + layouts).substr(8))["layouts"];
  REQUIRE(reports[0]["warnings"].size() == 1);
  CHECK(has(reports[0]["warnings"][0].get<std::string>(), "3 of them are idle"));
  CHECK(reports[1]["warnings"].empty());
  const ScratchFolder folder;
  const std::string program = folder / "p.json";
  CHECK(outcome_in_models("$MTFC compile -q mnist.json --set batch=1 --mesh dp:4 --layout batch:dp -o " +
                          program) == "exit 0: ");
  CHECK(has(outcome_in_models("$MTFC cost-report " + program),
            "mtfc: warning: 'batch' has 1 element for the 4"));
}

TEST_CASE("the first part of a hardware profile's name suggests that profile") {
  // h100 is nearer by its letters.
  CHECK(outcome_in_models("$MTFC cost-report mnist.json --hardware a100") ==
        "exit 2: mtfc: error: there is no hardware profile 'a100' (did you mean one of a100-40g, "
        "a100-4x100g, a100-80g, a100-hdr4?)\n");
}

TEST_CASE("the name of other hardware suggests no profile, and a slip does") {
  const auto refused = [](const std::string& name) {
    return outcome_in_models("$MTFC cost-report mnist.json --hardware " + name);
  };
  for (const char* other : {"v100", "h200", "3090", "tpu-v4", "a10"}) {
    CAPTURE(other);
    CHECK(has(refused(other),
              fmt::format("there is no hardware profile '{}' (bundled profiles are a100-40g, ", other)));
  }
  for (const auto& [slip, meant] : std::vector<std::pair<const char*, const char*>>{
           {"H100", "h100"}, {"tpv-v2", "tpu-v2"}, {"xeom-amx", "xeon-amx"}, {"locale", "local"}})
    CHECK(has(refused(slip), fmt::format("(did you mean '{}'?)", meant)));
}

TEST_CASE("what it takes to train on many tokens") {
  const std::string command =
      "$MTFC cost-report transformer_lm.json --set batch=16 --set length=64 --mesh all:4 --layout batch:all "
      "-q ";
  const Json plain = Json::parse(outcome_in_models(command + "--format json").substr(8))["layouts"][0];
  const auto step = plain["time"]["step_s"].get<double>();
  CHECK(plain["training"]["tokens_per_step"] == 1024);
  CHECK(plain["training"]["tokens_per_second"].get<double>() == doctest::Approx(1024 / step));
  CHECK_FALSE(plain["training"].contains("steps"));
  const std::string planned = command + "--tokens 20e9 --price 2.1/h ";
  const Json training =
      Json::parse(outcome_in_models(planned + "--format json").substr(8))["layouts"][0]["training"];
  CHECK(training["steps"] == 19531250);
  CHECK(training["seconds"].get<double>() == doctest::Approx(19531250 * step));
  CHECK(training["device_hours"].get<double>() == doctest::Approx(4 * 19531250 * step / 3600));
  CHECK(training["price"].get<double>() == doctest::Approx(2.1 * 4 * 19531250 * step / 3600));
  const std::string table = outcome_in_models(planned);
  CHECK(has(table, "\nsteps for all tokens"));
  CHECK(has(table, " days\n"));
  CHECK(has(table, "\n  price "));
  CHECK(outcome_in_models(command + "--price 2.1/h") ==
        "exit 2: mtfc: error: --price needs the number of tokens (give --tokens, as in --tokens 20e9)\n");
  CHECK(has(outcome_in_models(command + "--tokens 1e9 --price free"),
            "exit 2: mtfc: error: --price: expected a price"));
  CHECK(has(outcome_in_models(command + "--entry evaluate --tokens 1e9"), "exit 2: "));
}

TEST_CASE("a sweep can be cut down to the layouts that no other one dominates") {
  const std::string sweep =
      "$MTFC cost-report mnist.json --devices 16 --mesh 'rows:*,cols:*' --layout batch:rows,hidden:cols ";
  const Json all = Json::parse(outcome_in_models(sweep + "--format json -q").substr(8))["layouts"];
  const Json front = Json::parse(outcome_in_models(sweep + "--pareto --format json -q").substr(8))["layouts"];
  const auto time = [](const Json& report) { return report["time"]["step_s"].get<double>(); };
  const auto memory = [](const Json& report) {
    return report["memory"]["peak_bytes_per_device"].get<int64_t>();
  };
  size_t expected = 0;
  for (const Json& one : all)
    expected += std::none_of(all.begin(), all.end(), [&](const Json& other) {
      return time(other) <= time(one) && memory(other) <= memory(one) &&
             (time(other) < time(one) || memory(other) < memory(one));
    });
  CHECK(front.size() == expected);
  CHECK(expected < all.size());
  CHECK(has(outcome_in_models("COLUMNS=400 " + sweep + "--pareto"),
            fmt::format("mtfc: note: {} of {} layouts are shown", expected, all.size())));
  const ScratchFolder folder;
  CHECK(outcome_in_models(sweep + "-q -o " + folder / "r.html") == "exit 0: ");
  const Json layouts = page_data(contents(folder / "r.html"))["layouts"];
  CHECK(layouts.size() == all.size());
  CHECK(std::count_if(layouts.begin(), layouts.end(), [](const Json& layout) {
          return layout.contains("isFirst");
        }) == static_cast<int64_t>(expected));
}

TEST_CASE("the layouts that no other one dominates are drawn below the table") {
  const std::string sweep =
      "$MTFC cost-report mnist.json --devices 64 --mesh 'rows:*,cols:*' --layout batch:rows,hidden:cols -q ";
  const std::string text = outcome_in_models(sweep + "--pareto");
  const size_t drawing = text.find("\ntime of a step (to the right) and memory per device (upwards)\n");
  REQUIRE(drawing != std::string::npos);
  CHECK(text.find("alignment and gaps") < drawing);
  // Each layout of the table, by its number in the sweep.
  const std::regex number("\\[[0-9]+\\]");
  const std::string table = text.substr(0, drawing), drawn = text.substr(drawing);
  REQUIRE(std::regex_search(table, number));
  for (std::sregex_iterator at(table.begin(), table.end(), number), end; at != end; ++at)
    CHECK_MESSAGE(has(drawn, at->str()), at->str());
  CHECK(!has(outcome_in_models(sweep), "upwards"));
  CHECK(!has(outcome_in_models(sweep + "--pareto --format csv"), "upwards"));
}

TEST_CASE("a page says how it was made, and is the same whatever its name") {
  const ScratchFolder folder;
  const std::string report =
      "$MTFC cost-report transformer_lm.json -q --set layers=3 --set d_ff=512 --mesh a:2,b:4 --layout "
      "batch:a,heads:b --ranks-per-node 4 -o ";
  CHECK(outcome_in_models(report + folder / "one.html") == "exit 0: ");
  CHECK(outcome_in_models(report + folder / "two.html") == "exit 0: ");
  const std::string page = contents(folder / "one.html");
  CHECK(page == contents(folder / "two.html"));
  const Json data = page_data(page), facts = data["origin"]["facts"];
  CHECK(facts[0][1] ==
        "mtfc cost-report transformer_lm.json --set layers=3 --set d_ff=512 --mesh a:2,b:4 --layout "
        "batch:a,heads:b --ranks-per-node 4 -o report.html");
  const std::string version = outcome_in_models("$MTFC --version");
  CHECK(facts[1][1] == version.substr(8, version.size() - 9));
  CHECK(facts[3][1] == "layers=3, d_ff=512");
  CHECK(facts[4][1].get<std::string>().starts_with("local: "));
  CHECK(data["layouts"][0]["details"]["perNode"] == 4);
  CHECK(has(data["layouts"][0]["details"]["operations"].dump(), "[[\"layer_{0..2}/"));
}

TEST_CASE("formats follow the name of the file") {
  const ScratchFolder folder;
  const std::string report = "$MTFC cost-report mnist.json --mesh a:2 --layout batch:a -o ";
  CHECK(outcome_in_models(report + folder / "r.html") == "exit 0: ");
  CHECK(contents(folder / "r.html").starts_with("<!doctype html>"));
  // The command names the file that it has written if standard error is a terminal.
  const std::string watched = "MTFC_TERMINAL=2 " + report + folder / "r.html",
                    wrote = "mtfc: wrote '" + folder / "r.html" + "'\n";
  CHECK(has(outcome_in_models(watched), wrote));
  CHECK_FALSE(has(outcome_in_models(watched + " -q"), "wrote"));
  CHECK_FALSE(has(outcome_in_models("MTFC_TERMINAL=2 " + report + "/dev/null --format html"), "wrote"));
  CHECK(outcome_in_models(report + folder / "r.csv") == "exit 0: ");
  CHECK(contents(folder / "r.csv").starts_with("number,model,"));
  CHECK(outcome_in_models(report + folder / "r") == "exit 0: ");
  CHECK(Json::parse(contents(folder / "r"))["layouts"][0]["devices"] == 2);
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
                        .substr(8))["layouts"][0]["device_order"] == Json({2, 0, 3, 1}));
}

TEST_CASE("warnings are about the layouts that --pareto leaves, by their numbers in the output") {
  // Three of four devices are idle for a batch of 1; one device alone is as fast.
  const std::string idle = "--set batch=1 --mesh a:4 --layout batch:a ",
                    alone = "--mesh a:1 --layout batch:a ";
  const std::string both = outcome_in_models("$MTFC cost-report mnist.json " + idle + alone);
  CHECK(both.find("mtfc: warning: [1] 'batch' has 1 element for the 4 devices along a") != std::string::npos);
  const std::string front = outcome_in_models("$MTFC cost-report mnist.json --pareto " + idle + alone);
  CHECK(front.find("1 of 2 layouts are shown") != std::string::npos);
  CHECK(front.find("warning") == std::string::npos);
  // A layout has the number in which it was given, in every form of the report.
  const ScratchFolder folder;
  const std::string frontier =
      "$MTFC cost-report mnist.json --pareto " + idle + alone + "--mesh a:2 --layout hidden:a -q ";
  const std::string table = outcome_in_models(frontier);
  CAPTURE(table);
  CHECK(has(table, "\nbest [3] a:2 hidden:a"));
  CHECK(has(table, "\n     [2] a:1 batch:a"));
  CHECK_FALSE(has(table, "[1]"));
  const std::string lines = outcome_in_models(frontier + "--format csv");
  CHECK(has(lines, "\n2,mnist,"));
  CHECK(has(lines, "\n3,mnist,"));
  CHECK_FALSE(has(lines, "\n1,mnist,"));
  CHECK(outcome_in_models(frontier + "-o " + folder / "r.html") == "exit 0: ");
  const Json page = page_data(contents(folder / "r.html"));
  CHECK(page["hasBest"] == true);
  REQUIRE(page["layouts"].size() == 2);
  CHECK(page["layouts"][0]["number"] == 3);
  CHECK(page["layouts"][0]["name"] == "a:2 / hidden:a");
  CHECK(page["layouts"][1]["number"] == 2);
}

}  // namespace mtfc::cost_report_test
