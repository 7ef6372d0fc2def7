// Predictions for rows of published runs are those of cost-report, and what they are compared with is counted right.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "cmd/testing/command_results.h"
#include "cmd/testing/shell.h"
#include "core/testing/checkout.h"
#include "core/testing/scratch_folder.h"
#include "core/testing/skip.h"

namespace mtfc::validate_test {
namespace {

using Json = nlohmann::json;

constexpr const char* kSizes = "layers={} d_model=1024 heads=16 positions=512 vocab=8192 batch={}";

struct Row {
  std::string id = "row", kind, model = "gpt2", dtype = "bf16", gradients;
  int layers = 9, batch = 16, devices = 4;
  std::string mesh = "data:2,model:2", layout = "batch:data,heads:model,d_ff:model,vocab:model", more_sets;
  int zero = 0, microbatches = 4;
  std::string hardware = "a100-80g", recompute, sequence_parallel;
  std::string stages = "1";
  int chunks = 1;
  std::string held_gradients, without_passes;
  std::string status, part, stage, split, reduction, software_s, needs;
  double seconds = 1;
  int64_t memory = 1000;
  int64_t workspace = 0;

  /// Names of columns and their fields.
  std::vector<std::pair<std::string, std::string>> fields() const {
    const auto quoted = [](const std::string& text) { return '"' + text + '"'; };
    return {{"id", id},
            {"source", "paper"},
            {"kind", kind},
            {"model", model},
            {"set", fmt::format(fmt::runtime(kSizes), layers, batch) + more_sets},
            {"dtype", dtype},
            {"gradients", gradients},
            {"hardware", hardware},
            {"devices", std::to_string(devices)},
            {"mesh", quoted(mesh)},
            {"layout", quoted(layout)},
            {"zero", std::to_string(zero)},
            {"microbatches", std::to_string(microbatches)},
            {"recompute", recompute},
            {"held_gradients", held_gradients},
            {"without_passes", without_passes},
            {"reduction", reduction},
            {"software_s", software_s},
            {"sequence_parallel", sequence_parallel},
            {"stages", stages},
            {"chunks", std::to_string(chunks)},
            {"group", "same"},
            {"status", status},
            {"part", part},
            {"seconds", fmt::format("{}", seconds)},
            {"memory_bytes", std::to_string(memory)},
            {"stage", stage},
            {"split", split},
            {"workspace_bytes", std::to_string(workspace)},
            {"needs", needs}};
  }
};

class Rows {
 public:
  void add(const Row& row) {
    std::string names, texts;
    for (const auto& [name, text] : row.fields()) {
      names += (names.empty() ? "" : ",") + name;
      texts += (texts.empty() ? "" : ",") + text;
    }
    text_ += (text_.empty() ? names + '\n' : "") + texts + '\n';
  }
  std::string file() const { return folder_.write("rows.csv", text_); }
  // The JSON that validate prints of the rows.
  Json validated(const std::string& options = "") const {
    const Outcome outcome = outcome_here(fmt::format("validate '{}' -q --format json {}", file(), options));
    CHECK(outcome.code == 0);
    return Json::parse(outcome.text);
  }
  Outcome outcome(const std::string& options) const {
    return outcome_of(fmt::format("'{}' validate '{}' -q {} 2>&1", kTestedProgram, file(), options));
  }
  std::string operator/(const std::string& name) const { return folder_ / name; }

 private:
  ScratchFolder folder_;
  std::string text_;
};

Json only_row(const Row& row) {
  Rows rows;
  rows.add(row);
  const Json report = rows.validated();
  REQUIRE(report["rows"].size() == 1);
  CAPTURE(report["rows"][0].dump());
  REQUIRE(report["rows"][0].contains("predicted_s"));
  return report["rows"][0];
}

// The report of the program with all layers and microbatches.
Json whole_report(const Row& row) {
  std::string sets;
  const std::string text = fmt::format(fmt::runtime(kSizes), row.layers, row.batch) + row.more_sets +
                           (row.recompute == "full" ? " recompute=1" : "");
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(' ', begin), text.size());
    sets += " --set " + text.substr(begin, end - begin);
    begin = end + 1;
  }
  const std::string model = row.model == "gpt2" ? "gpt2.json" : "families/" + row.model + ".json";
  return report_of(
      model, fmt::format("{} --dtype {} --microbatches {} --mesh {} --layout {}{} --hardware {} -q{}", sets,
                         row.dtype, row.microbatches, row.mesh, row.layout,
                         row.zero > 0 ? fmt::format(",zero:{}", row.zero) : "", row.hardware,
                         row.without_passes.empty() ? "" : " --without-pass " + row.without_passes));
}

double relative(double found, double expected) {
  return std::abs(found / expected - 1);
}

}  // namespace

TEST_CASE("two depths and two microbatches price a program with many of both") {
  std::vector<Row> rows(7);
  rows[1].zero = 1;
  rows[2].zero = 3;
  rows[3].recompute = "full";
  rows[4].microbatches = 1;
  rows[4].more_sets = " dropout=0.1";
  rows[5].model = "llama";
  rows[5].more_sets = " attention_heads=16 length=512 d_ff=2816";
  rows[6].hardware = "h100-efa";  // where the processor that issues kernels takes longer than they do
  for (const Row& row : rows) {
    CAPTURE(row.model + row.more_sets + " zero " + std::to_string(row.zero));
    const Json found = only_row(row), whole = whole_report(row);
    // With ZeRO, gathers of the first layers overlap with fewer others than those of further ones.
    CHECK(relative(found["predicted_s"], whole["time"]["step_s"]) < (row.zero > 0 ? 0.02 : 0.005));
    CHECK(relative(found["predicted_bytes"], whole["memory"]["peak_bytes_per_device"]) <
          (row.zero > 0 ? 0.004 : 0.001));
    double parts = 0;
    for (const auto& [part, seconds] : found["parts_s"].items()) parts += seconds.get<double>();
    CHECK(parts == doctest::Approx(found["predicted_s"].get<double>()));
  }
}

TEST_CASE("a layer takes as long as it adds to a microbatch") {
  Row row;
  const auto step = [&](int layers, int microbatches) {
    row.layers = layers;
    row.batch = 4 * microbatches;
    row.microbatches = microbatches;
    return only_row(row)["predicted_s"].get<double>();
  };
  const double of_layer = (step(12, 6) - step(12, 5)) - (step(11, 6) - step(11, 5));
  row.layers = 1;
  row.batch = 4;
  row.microbatches = 1;
  row.part = "layer";
  CHECK(relative(only_row(row)["predicted_s"], of_layer) < 1e-6);
}

TEST_CASE("the workspace of libraries counts where a row states it") {
  Row row;
  const auto bytes = [&] { return only_row(row)["predicted_bytes"].get<double>(); };
  for (const char* stages : {"1", "3"}) {
    row.stages = stages;
    row.devices = 4 * std::stoi(stages);
    row.workspace = 0;
    const double without = bytes();
    row.workspace = 1 << 26;
    CHECK(bytes() == without + (1 << 26));
  }
}

TEST_CASE("gradients in f32 are sent at twice the bytes") {
  Row row;
  row.mesh = "data:4";
  row.layout = "batch:data";
  const Json half = only_row(row);
  row.gradients = "f32";
  const Json whole = only_row(row);
  const auto sent = [](const Json& found) { return found["parts_s"]["all_reduce over data"].get<double>(); };
  CHECK(sent(whole) > 1.4 * sent(half));
}

TEST_CASE("gradients that are reduced beside the last microbatch take only what is left after it") {
  Row row;
  row.devices = 32;
  row.mesh = "data:16,model:2";
  row.batch = 64;
  const auto seconds = [&](const std::string& reduction) {
    row.reduction = reduction;
    return only_row(row)["predicted_s"].get<double>();
  };
  const double reduced = only_row(row)["parts_s"]["all_reduce over data"].get<double>();
  const double hidden = seconds("after") - seconds("in_last");
  CHECK(hidden > 0.1 * reduced);
  CHECK(hidden <= reduced);
  // A step of one microbatch hides it anyway.
  row.microbatches = 1;
  CHECK(seconds("after") == seconds("in_last"));
  const double before = seconds("");
  row.software_s = "0.25";
  CHECK(relative(seconds(""), before + 0.25) < 1e-9);
  CHECK(only_row(row)["parts_s"]["other software"] == 0.25);
}

TEST_CASE("a pipeline takes its bubble, and each stage its share") {
  Row row;
  row.layers = 8;
  row.batch = 32;
  row.microbatches = 8;
  const double whole = only_row(row)["predicted_s"];
  row.stages = "4";
  row.devices = 16;
  const Json staged = only_row(row);
  CHECK(staged["outside_stages"] == true);
  // Four stages share the work of eight microbatches, and the slowest has more than a quarter; three more are bubble.
  CHECK(staged["predicted_s"].get<double>() > whole / 4 * 11 / 8 * 0.8);
  CHECK(staged["predicted_s"].get<double>() < whole);
  const double bubble = staged["parts_s"]["bubble"];
  row.chunks = 2;
  const Json interleaved = only_row(row);
  CHECK(interleaved["parts_s"]["bubble"].get<double>() < 0.9 * bubble);
  // A second set of microbatches adds as much time as the slowest stage takes for it, and no bubble.
  row.chunks = 1;
  row.batch = 64;
  row.microbatches = 16;
  const Json twice = only_row(row);
  CHECK(relative(twice["parts_s"]["bubble"].get<double>(), bubble) < 1e-6);
  row.batch = 128;
  row.microbatches = 32;
  const double more = only_row(row)["predicted_s"].get<double>() - twice["predicted_s"].get<double>();
  CHECK(relative(more, 2 * (twice["predicted_s"].get<double>() - staged["predicted_s"].get<double>())) <
        1e-6);
}

TEST_CASE("the first stage of a pipeline keeps the activations of most microbatches") {
  Row row;
  row.layers = 8;
  row.batch = 128;
  row.microbatches = 8;
  row.stages = "4";
  row.devices = 16;
  row.more_sets = "";
  row.stage = "first";
  const double first = only_row(row)["predicted_bytes"];
  row.stage = "last";
  const double last = only_row(row)["predicted_bytes"];
  row.microbatches = 1;
  row.batch = 16;
  const double last_of_one = only_row(row)["predicted_bytes"];
  row.stage = "first";
  const double first_of_one = only_row(row)["predicted_bytes"];
  CHECK(relative(last, last_of_one) < 0.01);  // it has one at a time
  CHECK(first > first_of_one);
  // The first of four stages keeps those of four microbatches, of two layers each.
  Row two = row;
  two.microbatches = 2;
  two.batch = 32;
  const double of_two = only_row(two)["predicted_bytes"];
  CHECK(first - first_of_one == doctest::Approx(3 * (of_two - first_of_one)));
  // With two chunks each, the first has begun 2 · 3 + 4 + 1 of the chunks, and the last 4 + 1.
  row.microbatches = 8;
  row.batch = 128;
  row.chunks = 2;
  CHECK(only_row(row)["predicted_bytes"].get<double>() - first_of_one ==
        doctest::Approx(4.5 * (of_two - first_of_one)));
  row.stage = "last";
  CHECK(only_row(row)["predicted_bytes"].get<double>() - last_of_one ==
        doctest::Approx(1.5 * (of_two - first_of_one)).epsilon(0.1));
}

TEST_CASE("a stage has the layers that its row states, and the last may have none") {
  Row row;
  row.layers = 8;
  row.batch = 32;
  row.microbatches = 8;
  row.devices = 12;
  row.stages = "4 4 0";
  row.stage = "last";
  const double head = only_row(row)["predicted_bytes"];
  row.stages = "5 3 0";
  CHECK(only_row(row)["predicted_bytes"] == doctest::Approx(head));
  row.stage = "first";
  const double of_five = only_row(row)["predicted_bytes"];
  row.stages = "4 4 0";
  const double of_four = only_row(row)["predicted_bytes"];
  row.stages = "3 5 0";
  const double of_three = only_row(row)["predicted_bytes"];
  CHECK(of_five > of_four);
  CHECK(of_five - of_four == doctest::Approx(of_four - of_three));
}

TEST_CASE("a row states how the software that ran it uses memory") {
  Row row;
  row.mesh = "data:2,model:1";
  row.devices = 2;
  const auto bytes = [&] { return only_row(row)["predicted_bytes"].get<double>(); };
  const double plain = bytes();
  // Gradients of all parameters in bf16, which no stage of ZeRO splits.
  const double width = 1024,
               parameters = 8192 * width + 512 * width + 9 * (12 * width + 13) * width + 2 * width;
  row.held_gradients = "bf16";
  CHECK(bytes() - plain == doctest::Approx(2 * parameters).epsilon(1e-6));
  row.zero = 1;
  const double held = bytes();
  row.held_gradients = "";
  CHECK(held - bytes() == doctest::Approx(2 * parameters).epsilon(1e-6));
  // A gelu makes much from little. Its layers keep that, for as many tokens as a microbatch has on a device.
  row.zero = 0;
  row.without_passes = "recompute_cheap";
  const double kept = only_row(row)["predicted_bytes"],
               whole = whole_report(row)["memory"]["peak_bytes_per_device"];
  CHECK(kept > 1.1 * plain);
  CHECK(relative(kept, whole) < 0.001);
}

TEST_CASE("what mtfc lacks is refused by name, and counted") {
  Rows rows;
  Row row;
  rows.add(row);
  row.dtype = "fp8";
  rows.add(row);
  row = Row();
  row.needs = "LoRA;fp8";
  rows.add(row);
  row = Row();
  row.kind = "simulated";
  rows.add(row);
  const Json report = rows.validated();
  CHECK(report["all"]["rows"] == 3);
  CHECK(report["all"]["predicted"] == 1);
  CHECK(report["all"]["refused"] == Json{{"LoRA", 1}, {"fp8", 1}});
  CHECK(report["all"]["time"]["rows"] == 1);
}

TEST_CASE("a row that does not compile is refused by its error") {
  Rows rows;
  Row row;
  row.more_sets = " d_modle=8";
  rows.add(row);
  row = Row();
  row.layout = "batch:data,heads:data";
  rows.add(row);
  const Json report = rows.validated();
  CHECK(report["all"]["predicted"] == 0);
  for (const Json& one : report["rows"]) {
    CAPTURE(one.dump());
    CHECK(one["refused_for"].get<std::string>().starts_with("a model and a layout without the error: "));
    CHECK(one["reason"].get<std::string>().find("error: ") != std::string::npos);
  }
}

TEST_CASE("a row that contradicts itself is an error with its line") {
  Rows rows;
  Row row;
  rows.add(row);
  row.devices = 8;
  rows.add(row);
  row = Row();
  row.microbatches = 3;
  rows.add(row);
  const Outcome outcome = rows.outcome("");
  CHECK(outcome.code == 2);
  CHECK(outcome.text.find(
            "rows.csv:3:0: error: row 'row': one stage of mesh 'data:2,model:2' are 4 devices, not 8\n") !=
        std::string::npos);
  CHECK(outcome.text.find("rows.csv:4:0: error: row 'row': 3 microbatches do not share a batch of 16\n") !=
        std::string::npos);
}

TEST_CASE("a row that names what does not exist is an error with its line, once for each name") {
  Rows rows;
  Row row;
  row.model = "gpt5";
  rows.add(row);
  rows.add(row);
  row = Row();
  row.hardware = "H100";
  rows.add(row);
  row.hardware = "mine.json";
  rows.add(row);
  row = Row();
  row.layout = "megatrno";
  rows.add(row);
  row.layout = "mine.json";
  rows.add(row);
  const Outcome outcome = rows.outcome("");
  CHECK(outcome.code == 2);
  const auto says = [&](const std::string& text) { return outcome.text.find(text) != std::string::npos; };
  CHECK(says("rows.csv:2:0: error: there is no model 'gpt5' (there are 'gpt2'"));
  CHECK_FALSE(says("rows.csv:3:0"));
  CHECK(says("rows.csv:4:0: error: there is no hardware profile 'H100' (did you mean 'h100'?)"));
  CHECK(says("rows.csv:5:0: error: cannot read the hardware profile 'mine.json': No such file or directory"));
  CHECK(says(
      "rows.csv:6:0: error: 'megatrno' is no rule: DIMENSION:AXIS (did you mean the preset 'megatron'?)"));
  CHECK(says("rows.csv:7:0: error: cannot read the layout 'mine.json': No such file or directory"));
}

TEST_CASE("the preset megatron splits sequences between parts where a row says so") {
  const auto figures = [](const std::string& layout, const std::string& sequence_parallel) {
    Row row;
    row.layout = layout;
    row.sequence_parallel = sequence_parallel;
    const Json found = only_row(row);
    return std::pair{found["predicted_s"].get<double>(), found["predicted_bytes"].get<double>()};
  };
  const std::string rules = Row().layout;
  CHECK(figures("megatron", "") == figures(rules, "no"));
  CHECK(figures("megatron", "no") == figures(rules, "no"));
  CHECK(figures("megatron", "yes") == figures(rules, "yes"));
  CHECK(figures("megatron", "yes").second < figures("megatron", "no").second);
}

TEST_CASE("a bar that is missed ends with 1 and says so") {
  Rows rows;
  Row row;
  row.seconds = only_row(row)["predicted_s"].get<double>() / 1.05;
  rows.add(row);
  CHECK(rows.outcome("--bar paper=6").code == 0);
  const Outcome missed = rows.outcome("--bar paper=4 --bar paper.median=6");
  CHECK(missed.code == 1);
  CHECK(
      missed.text.find("missed: the mean error of times of paper is 5.0 %, and at most 4.0 % is allowed\n") !=
      std::string::npos);
  CHECK(missed.text.find("kept: the median error of times of paper is 5.0 %") != std::string::npos);
}

TEST_CASE("a fit finds the numbers that rows were made with") {
  Rows rows;
  const std::string profile = std::string(kSourceFolder) + "/models/hardware/a100-80g.json";
  std::string changed = contents(profile);
  const std::string was = "\"step_overhead_s\": 2e-6";
  REQUIRE(changed.find(was) != std::string::npos);
  changed.replace(changed.find(was), was.size(), "\"step_overhead_s\": 2e-5");
  const ScratchFolder folder;
  const std::string made = folder.write("made.json", changed);
  for (int i = 0; i < 4; ++i) {
    Row row;
    row.id = fmt::format("r{}", i);
    row.layers = 4 + 3 * i;
    row.microbatches = 1 << i;
    row.split = i % 2 == 0 ? "train" : "test";
    Rows one;
    one.add(row);
    row.seconds = one.validated(fmt::format("--hardware '{}'", made))["rows"][0]["predicted_s"];
    rows.add(row);
  }
  const std::string fitted = rows / "fitted.json";
  const Json report = rows.validated(fmt::format("--fit step_overhead_s --on split=train -o '{}'", fitted));
  const Json& key = report["fit"]["keys"][0];
  CHECK(key["before"].get<double>() == doctest::Approx(2e-6));
  CHECK(relative(key["after"], 2e-5) < 0.03);
  CHECK(report["fit"]["rows"].size() == 2);
  CHECK(report["fit"]["after_on_others"]["mean"].get<double>() < 0.02);
  CHECK(report["fit"]["before_on_others"]["mean"].get<double>() > 0.3);
  const Json written = Json::parse(contents(fitted));
  CHECK(relative(written["step_overhead_s"], 2e-5) < 0.03);
  CHECK(written["doc"].get<std::string>().find("paper/r0, paper/r2") != std::string::npos);
  // The profile gives the predictions that the report has.
  const Json again = rows.validated(fmt::format("--hardware '{}'", fitted));
  CHECK(relative(again["rows"][3]["predicted_s"], report["rows"][3]["predicted_s"]) < 0.002);
  CHECK(rows.outcome("--fit step_overhead_s").code == 2);
  CHECK(rows.outcome("--fit step_overhead --on split=train")
            .text.find("the profile has no number 'step_overhead'") != std::string::npos);
}

TEST_CASE("the bundled rows are those that the converters make") {
  const std::string data = std::string(kSourceFolder) + "/../shared/data/published";
  if (!std::filesystem::exists(data + "/vtrain_multi.csv"))
    return skip_without("digits", "no published runs are converted, since there are none in " + data);
  // By converter, the rows that it makes.
  for (const auto& [script, rows] : {std::pair("vtrain.py", "vtrain"),
                                     {"vtrain.py", "vtrain_single"},
                                     {"nanotron.py", "playbook"},
                                     {"steps.py", "steps"},
                                     {"narayanan.py", "narayanan"},
                                     {"megatron_golden.py", "megatron_golden"},
                                     {"simumax.py", "simumax"},
                                     {"fugaku.py", "fugaku"},
                                     {"sailor.py", "sailor"},
                                     {"mlperf.py", "mlperf"},
                                     {"more.py", "more"},
                                     {"llm_foundry.py", "llm_foundry"}}) {
    CAPTURE(rows);
    // The facts of a web page stand beside its converter.
    const std::string own = std::string(kSourceFolder) + "/scripts/published";
    const bool is_own = std::filesystem::exists(fmt::format("{}/{}.csv", own, rows));
    const Outcome made = outcome_of(
        fmt::format("PYTHONDONTWRITEBYTECODE=1 python3 '{}/scripts/published/{}' '{}' {}", kSourceFolder,
                    script, is_own ? own : data, std::string(rows) == "vtrain_single" ? "single" : ""));
    CHECK(made.code == 0);
    CHECK(made.text.starts_with("# "));
    // The folder may have other rows than those that are bundled.
    const std::string bundled = contents(fmt::format("{}/testdata/published/{}.csv", kSourceFolder, rows));
    if (std::count(made.text.begin(), made.text.end(), '\n') ==
        std::count(bundled.begin(), bundled.end(), '\n'))
      CHECK(made.text == bundled);
  }
}

TEST_CASE("memory of bundled rows is predicted within what is stated") {
  const auto within = [](const std::string& options) {
    const Outcome outcome =
        outcome_of(fmt::format("MTFC_VERIFY_PASSES=0 '{}' validate '{}/testdata/published/'{} 2>&1",
                               kTestedProgram, kSourceFolder, options));
    CAPTURE(outcome.text);
    CHECK(outcome.code == 0);
  };
  // Runs of Megatron with tensor and context parallelism and two stages.
  within("simumax.csv -q --only model=llama --bar simumax.memory=3");
  // Runs of nanotron on one stage, and on some.
  within("playbook.csv -q --only stages=1 --only 'mesh=*model:[12]' --bar playbook.memory=11");
  within("playbook.csv -q --only 'stages=* *' --only devices=8 --bar playbook.memory=12");
}

TEST_CASE("the memory of Megatron's tests of dense models is met") {
  const Outcome outcome =
      outcome_here(fmt::format("validate '{}/testdata/published/megatron_golden.csv' -q "
                               "--format json --sample 2/3",
                               kSourceFolder));
  REQUIRE(outcome.code == 0);
  const Json report = Json::parse(outcome.text);
  size_t priced = 0, within = 0;
  for (const Json& row : report["rows"]) {
    if (!row.contains("predicted_bytes")) continue;
    ++priced;
    within += relative(row["predicted_bytes"], row["measured_bytes"]) < 0.03;
  }
  CHECK(priced > 35);
  CHECK(static_cast<double>(within) > 0.8 * static_cast<double>(priced));
}

TEST_CASE("a tenth of the bundled rows is priced") {
  const std::string files = std::string(kSourceFolder) + "/testdata/published/*.csv";
  const ScratchFolder folder;
  const std::string report = folder / "report.json", page = folder / "page.html";
  const Outcome outcome =
      outcome_of(fmt::format("MTFC_VERIFY_PASSES=0 '{}' validate {} --sample 3/10 -q -o '{}' -o '{}' 2>&1",
                             kTestedProgram, files, report, page));
  CAPTURE(outcome.text);
  REQUIRE(outcome.code == 0);
  const Json scores = Json::parse(contents(report));
  CHECK(scores["all"]["rows"].get<int>() > 150);
  CHECK(scores["all"]["predicted"].get<int>() > 100);
  for (const Json& row : scores["rows"]) {
    if (!row.contains("predicted_s")) continue;
    CAPTURE(row.dump());
    CHECK(row["predicted_s"].get<double>() > 0);
    CHECK(row["largest_bytes"].get<double>() >= row["predicted_bytes"].get<double>());
  }
  CHECK(contents(page).find("Predictions and published runs") != std::string::npos);
}

}  // namespace mtfc::validate_test
