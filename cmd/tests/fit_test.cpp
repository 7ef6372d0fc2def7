// `mtfc search --fit`: every line is what cost-report says, and no line is missing that would take fewer microbatches.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <csignal>
#include <nlohmann/json.hpp>
#include <string>

#include "cmd/testing/command_results.h"
#include "cmd/testing/running_command.h"
#include "cmd/testing/shell.h"
#include "core/testing/checkout.h"
#include "core/testing/scratch_folder.h"

namespace mtfc::fit_test {
namespace {

using Json = nlohmann::json;

const std::string kSmall =
    " --set layers=2 --set d_model=32 --set d_ff=64 --set heads=4 --set d_kv=8 --set vocab=48 --set batch=8";

Json fits_of(const std::string& options) {
  const std::string text =
      outcome_in_models("$MTFC search transformer_lm.json -q --format json --fit" + kSmall + options);
  CAPTURE(text);
  REQUIRE(text.starts_with("exit 0: "));
  return Json::parse(text.substr(8));
}

// The report of a line, from the bundled layouts.
Json reported(const Json& fit, int64_t microbatches, int64_t limit) {
  const std::string layouts[] = {"data_parallel", "zero_1", "zero_2", "zero_3"};
  std::string options = fmt::format("{} --microbatches {}", kSmall, microbatches);
  if (!fit["zero_stage"].is_null())
    options += fmt::format(" --mesh all:{} --layout layouts/{}.json", fit["devices"].get<int64_t>(),
                           layouts[fit["zero_stage"].get<size_t>()]);
  if (limit > 0) options += fmt::format(" --memory-limit {}", limit);
  return report_of("transformer_lm.json", options);
}

int64_t memory_of(const Json& report) {
  return report["memory"]["peak_bytes_per_device"].get<int64_t>();
}

}  // namespace

TEST_CASE("what is said to fit does, with the fewest microbatches") {
  const int64_t limit = 400000;
  const Json found = fits_of(fmt::format(" --devices 8 --memory-limit {}", limit));
  CHECK(found["complete"] == true);
  CHECK(found["memory_limit"] == limit);
  int with_microbatches = 0, with_recomputation = 0;
  int64_t devices = 0;
  double step = 0;
  for (const Json& fit : found["fits"]) {
    CAPTURE(fit.dump());
    const auto microbatches = fit["microbatches"].get<int64_t>();
    const bool again = fit["recomputed_s"] > 0 || fit["scatters_each_microbatch"] == true;
    const Json report = reported(fit, microbatches, again ? limit : 0);
    CHECK(memory_of(report) == fit["memory_bytes_per_device"]);
    CHECK(report["time"]["step_s"].get<double>() == doctest::Approx(fit["step_s"].get<double>()));
    CHECK(fit["memory_bytes_per_device"] <= limit);
    if (!again && microbatches > 1)
      CHECK(memory_of(reported(fit, microbatches / 2, 0)) > limit);  // the batch is 8
    with_microbatches += microbatches > 1;
    with_recomputation += again;
    // The fewest devices first, then the shortest step.
    CHECK(fit["devices"] >= devices);
    if (fit["devices"] == devices) CHECK(fit["step_s"] >= step);
    devices = fit["devices"];
    step = fit["step_s"];
  }
  CHECK(with_microbatches > 0);
  CHECK(with_recomputation > 0);
  REQUIRE(found["too_large"].size() > 0);
  for (const Json& large : found["too_large"]) {
    CHECK(large["memory_bytes_per_device"] > limit);
    for (const Json& fit : found["fits"]) CHECK(fit["devices"] != large["devices"]);
  }
}

TEST_CASE("the layout that --fit writes runs as it says") {
  const ScratchFolder folder;
  const std::string said = outcome_in_models(
      fmt::format("$MTFC search transformer_lm.json -q --fit {} --devices 4 --memory-limit 400000 -o '{}'",
                  kSmall, folder / "first.json"));
  CAPTURE(said);
  CHECK(said.starts_with("exit 0: "));
  CHECK(said.find("transformer_lm, train: what fits into 400 kB per device of local\n") != std::string::npos);
  const std::string mark = "/first.json has the layout of the first row, on 2 devices; it runs with ";
  const size_t at = said.find(mark);
  REQUIRE(at != std::string::npos);
  const size_t from = at + mark.size(), end = said.find('\n', from);
  const std::string options = said.substr(from, end - from);
  CHECK(said.substr(end) ==
        "\nto write a row of other devices instead, name their mesh: --mesh all:4, without --devices\n");
  CHECK(outcome_in_models("$MTFC run transformer_lm.json --steps 1 -q --simulate " + options)
            .starts_with("exit 0: "));
}

TEST_CASE("--fit writes the row of the mesh that is named") {
  const ScratchFolder folder;
  const std::string said = outcome_in_models(fmt::format(
      "$MTFC search mnist.json --fit --mesh all:4 --memory-limit 4MiB -o '{}'", folder / "four.json"));
  CAPTURE(said);
  CHECK(said.ends_with(
      fmt::format("{0} has the layout of the first row, on 4 devices; it runs with --layout {0}\n",
                  folder / "four.json")));
  CHECK(Json::parse(contents(folder / "four.json"))["mesh"] == Json::array({Json::array({"all", 4})}));
  // Its memory is in the units of the limit.
  outcome_in_models(fmt::format("$MTFC search mnist.json --fit --mesh all:4 --memory-limit 4MB -o '{}'",
                                folder / "four.json"));
  const std::string doc = Json::parse(contents(folder / "four.json"))["doc"];
  CAPTURE(doc);
  CHECK(doc.find(" MB per device") != std::string::npos);
}

// There are some hundreds of training steps to try, and the signal comes after the first that fits.
TEST_CASE("--fit prints what fits so far when a signal ends it") {
  const ScratchFolder folder;
  RunningCommand fit(
      folder,
      fmt::format("env MTFC_TERMINAL=2 COLUMNS=400 $MTFC search {}/models/transformer_lm.json --fit --set "
                  "batch=720 --set layers=4 --devices 512 --memory-limit 300MiB",
                  kSourceFolder));
  REQUIRE(
      eventually([&] { return fit.ended() || folder.read("err").find(" tried; ") != std::string::npos; }));
  fit.send(SIGTERM);
  CHECK(fit.exit_code() == 143);
  const std::string said = folder.read("out");
  CAPTURE(said);
  CHECK(said.starts_with("transformer_lm, train: what fits into 300 MiB per device of local\n"));
  CHECK(said.find("stopped before all were") != std::string::npos);
  CHECK(said.find(": whether a step fits on ") != std::string::npos);
  CHECK(folder.read("err").find("mtfc: interrupted by SIGTERM") != std::string::npos);
}

TEST_CASE("where nothing fits, --fit says what is missing, and bad arguments are named") {
  const std::string fit = "$MTFC search mnist.json --fit ";
  const std::string nothing = outcome_in_models(fit + "--devices 2 --memory-limit 1KiB");
  CAPTURE(nothing);
  CHECK(nothing.starts_with("exit 1: "));
  CHECK(nothing.find("\nnothing\n") != std::string::npos);
  CHECK(nothing.find("2 devices: nothing fits; variables and the optimizer's state alone take ") !=
        std::string::npos);
  CHECK(nothing.find("\ntried 0 training steps in ") != std::string::npos);
  CHECK(nothing.find(
            "mtfc: error: nothing fits into 1 KiB per device with the batch split: use more devices") !=
        std::string::npos);
  CHECK(outcome_in_models(fit) ==
        "exit 2: mtfc: error: --fit needs the number of devices that there may be (give --devices N)\n");
  CHECK(outcome_in_models(fit + "--devices 2 --annotations")
            .find("--fit and --annotations exclude each other") != std::string::npos);
  CHECK(outcome_in_models(fit + "--devices 2 --entry evaluate")
            .find("--fit asks what training needs, not evaluate") != std::string::npos);
  CHECK(outcome_in_models(fit + "--devices 2 --dims batch").find("--fit keeps to the rules of --layout") !=
        std::string::npos);
  CHECK(outcome_in_models(fit + "--devices 2 --layout batch:all").find("name them, as in --mesh rows:*") !=
        std::string::npos);
  CHECK(outcome_in_models(fit + "--devices 4 --mesh rows:*,cols:7 --layout batch:rows")
            .starts_with("exit 2: "));
  CHECK(outcome_in_models("$MTFC search mnist.json --fit --devices 256 --memory-limit 3MiB")
            .find("meshes of more devices are left out: 'batch' has only 100 rows") != std::string::npos);
}

TEST_CASE("--fit tries all numbers of microbatches that divide the batch, and layouts that can be compiled") {
  const Json found = fits_of(" --set batch=12 --devices 1 --memory-limit 700000");
  REQUIRE(found["fits"].size() > 0);
  CHECK(found["fits"].back()["microbatches"] >= 3);
  const std::string even =
      outcome_in_models("$MTFC search mnist.json --fit --devices 8 --no-uneven --memory-limit 1GiB");
  CAPTURE(even);
  CHECK(even.find("warning: all:8 is left out: ") != std::string::npos);
  CHECK(even.find("\n      4     3             1 ") != std::string::npos);
  const std::string fit = "$MTFC search mnist.json --fit ";
  CHECK(outcome_in_models(fit + "--mesh all:256")
            .find("the devices would share 'batch', which has only 100 rows") != std::string::npos);
  CHECK(outcome_in_models(fit + "--mesh all:4 --devices 8").find("has 4 devices, not 8") !=
        std::string::npos);
  CHECK(outcome_in_models(fit + "--layout layouts/zero_3.json --devices 8").find("has a mesh of its own") !=
        std::string::npos);
  CHECK(outcome_in_models(fit + "--devices 2 --top 3").find("does not take --top") != std::string::npos);
  const std::string six =
      outcome_in_models(fit + "--mesh 'rows:*,cols:5' --layout batch:rows,hidden:cols --devices 20");
  CHECK(six.find("rows:2,cols:5") != std::string::npos);
}

TEST_CASE("--fit keeps to rules, and tries the sizes of a mesh that are open") {
  const std::string csv = outcome_in_models(
      "$MTFC search mnist.json --fit --format csv --mesh 'rows:*,cols:2' --layout "
      "batch:rows,hidden:cols --devices 8 --memory-limit 1GiB");
  CAPTURE(csv);
  CHECK(csv.starts_with(
      "exit 0: devices,mesh,zero_stage,microbatches,recomputed_s,memory_bytes_per_device,step_s\n"));
  CHECK(csv.find("\n2,\"rows:1,cols:2\",,1,0,") != std::string::npos);
  CHECK(csv.find("\n4,\"rows:2,cols:2\",3,1,0,") != std::string::npos);
  CHECK(csv.find("\n8,\"rows:4,cols:2\",0,1,0,") != std::string::npos);
}

}  // namespace mtfc::fit_test
