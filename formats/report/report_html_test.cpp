// The data of pages of cost reports, and that their scripts draw it. formats/report/page/page_test.js tests how.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>

#include "core/testing/skip.h"
#include "core/testing/text.h"
#include "formats/report/html_page.h"
#include "formats/report/report_writer.h"
#include "formats/testing/drawn_page.h"

namespace mtfc::report_html_test {

namespace {

using Data = nlohmann::json;

// Lists as JSON, since braces of nlohmann's library may also be objects.
Data parsed(const char* text) {
  return Data::parse(text);
}

ComparedLayout example(std::vector<int64_t> order = {}) {
  ComparedLayout made;
  made.model = "a<b";
  made.layout.mesh = Mesh({{"rows", 2}, {"cols", 16}}, std::move(order));
  CostReport& report = made.report.emplace();
  report.model = made.model;
  report.entry = "train";
  report.layout = made.layout;
  report.memory.variables = 100;
  report.memory_over_steps = {{1, 1}, {2, 900}, {3, 0}, {0, 0}, {0, 0}, 1};
  report.steps = {{"h\"", "einsum", "/ops/0", Phase::kForward, {}, {5, 5, 0, 0}, {}, 0},
                  {"s", "all_reduce", "", Phase::kBackward, {0}, {0, 0, 3, 12}, {}, 1}};
  report.tensors = {
      {"x", {{"batch", 5}, {"io", 7}}, {{{0}, {}}, {}}, {3, 7}, {2, 7}},
      {"w", {{"io", 7}, {"hidden", 64}}, {{{}, {1}}, {{0, ReduceKind::kSum}}}, {7, 4}, {7, 4}},
      {"w2", {{"io", 7}, {"hidden", 64}}, {{{}, {1}}, {{0, ReduceKind::kSum}}}, {7, 4}, {7, 4}}};
  return made;
}

std::string page_of(const std::vector<ComparedLayout>& layouts, size_t top = 10) {
  PageOptions options;
  options.top = top;
  return report_html(layouts, options);
}

Data data_of(const std::vector<ComparedLayout>& layouts, size_t top = 10) {
  return page_data(page_of(layouts, top));
}

Data details_of(const ComparedLayout& layout, size_t top = 10) {
  return data_of({layout}, top)["layouts"][0]["details"];
}

Data step_of(const CostReport& report) {
  ComparedLayout layout = example();
  layout.report = report;
  return details_of(layout)["step"];
}

// What changes in one kind of memory.
Data changes_of(const Data& step, const std::string& layer) {
  for (const Data& each : step["layers"])
    if (each[0] == layer) return each[2];
  return {};
}

StepCost step(const std::string& name, double begin, double end, AxisList axes = {}) {
  StepCost made;
  made.name = name;
  made.kind = axes.empty() ? "einsum" : "all_gather";
  made.axes = std::move(axes);
  made.time = {end - begin, begin, end, "compute"};
  made.count = {6, 6, 0, made.axes.empty() ? 0 : 4};
  return made;
}

}  // namespace

TEST_CASE("a page has the report of the terminal for who has no scripts, with warnings") {
  ComparedLayout layout = example();
  layout.report->warnings = {"be <careful>"};
  const std::string page = page_of({layout});
  CHECK(has(page, "<title>a&lt;b: cost report</title>"));
  CHECK(has(page, "<noscript><pre>a&lt;b, train\nmesh   rows:2,cols:16\n"));
  CHECK(has(page, "\nbe &lt;careful>\n</pre></noscript>"));
  CHECK(details_of(layout)["warnings"] == parsed(R"(["be <careful>"])"));
  CHECK(details_of(layout, 1)["operations"]["all"] == 2);
  CHECK(details_of(layout, 1)["operations"]["rows"].size() == 1);
}

TEST_CASE("a page has each row of the terminal's table") {
  const Data figures = details_of(example())["figures"];
  CHECK(figures[0] == parsed(R"(["devices", "32"])"));
  const std::string table = report_table({example()}, {});
  for (const Data& row : figures) CHECK(has(table, "\n" + row[0].get<std::string>() + "  "));
}

TEST_CASE("a collective's row says what it is for, and which steps are its own") {
  ComparedLayout layout = example();
  ReshardStep& reshard = layout.reshards.emplace_back();
  reshard.step = StepIndex(1);
  reshard.tensor = "s";
  reshard.collective = {CollectiveKind::kAllReduce, {0}};
  reshard.from = {{{"io", 7}}, {{{}}, {{0, ReduceKind::kSum}}}};
  reshard.to = {{{"io", 7}}, {{{}}, {}}};
  reshard.maker = {"s", "einsum", "/ops/0", {}};
  reshard.readers = {{"y<", "relu", "/ops/1", {}}};
  reshard.bytes = 12;
  CHECK(details_of(layout)["collectives"] ==
        parsed(R"({"all": 1, "rows": [[["s", [], ""], [12, "12 B"], [1, "1"], [1], "all_reduce", "rows",
                 "[io, sum over rows]", "[io]", [["einsum", ["s", [], "/ops/0"]]],
                 [["relu", ["y<", [], "/ops/1"]]]]]})"));
  // The smaller collectives of a long page are left out.
  layout.reshards.push_back(reshard);
  layout.reshards.back().bytes = 20;
  layout.reshards.back().step = StepIndex(0);
  const Data one = details_of(layout, 1)["collectives"];
  CHECK(one["all"] == 2);
  CHECK(one["rows"].size() == 1);
  CHECK(one["rows"][0][3] == parsed("[0]"));
}

TEST_CASE("tensors are matrices of shards with their ranks") {
  const Data tensors = details_of(example())["tensors"];
  CHECK(tensors["all"] == 2);
  REQUIRE(tensors["drawn"].size() == 2);  // w and w2 are alike
  const Data& w = tensors["drawn"][0];
  CHECK(w["names"] == parsed(R"(["w", "w2"])"));
  CHECK(w["dims"] == parsed(R"({"io": 7, "hidden": 64})"));
  CHECK(w["partial"] == parsed(R"({"rows": "sum"})"));
  // It has 16 shards across: six, a gap, and the last one; each is on two ranks.
  CHECK(w["shards"] == 16);
  CHECK(w["holders"] == 2);
  CHECK(w["down"] == parsed("[[], [[]]]"));
  CHECK(w["across"][0] == parsed(R"([["hidden", "cols"]])"));
  CHECK(w["across"][1] == parsed("[[[0,4]],[[4,8]],[[8,12]],[[12,16]],[[16,20]],[[20,24]],null,[[60,64]]]"));
  CHECK(w["rows"][0][5] == parsed("[5, [5, 21]]"));
  CHECK(w["rows"][0][6][1] == parsed("[]"));
  CHECK(w["rows"][0][7] == parsed("[15, [15, 31]]"));
  // Rows 0 and 1 of x are on the first row of the mesh, ranks 0 to 15; rows 2 to 4 on the second.
  const Data& x = tensors["drawn"][1];
  CHECK(x["down"] == parsed(R"([[["batch", "rows"]], [[[0, 2]], [[2, 5]]]])"));
  CHECK(x["rows"] == parsed("[[[0, [0, 1, 2, 15]]], [[1, [16, 17, 18, 31]]]]"));
  CHECK(x["holders"] == 16);
}

TEST_CASE("drawings follow the device order") {
  std::vector<int64_t> order(32);
  for (int64_t i = 0; i < 32; ++i) order[static_cast<size_t>(i)] = 31 - i;
  const Data details = details_of(example(order));
  CHECK(details["tensors"]["drawn"][0]["rows"][0][5] == parsed("[5, [26, 10]]"));
  CHECK(details["order"] == order);
  CHECK(details_of(example())["order"].empty());
}

TEST_CASE("tensors of repeated blocks share a name") {
  ComparedLayout layout = example();
  for (const char* name : {"layers_0/q", "layers_1/q", "layers_2/q"}) {
    layout.report->tensors.push_back(layout.report->tensors[1]);
    layout.report->tensors.back().name = name;
  }
  CHECK(details_of(layout)["tensors"]["drawn"][0]["names"] == parsed(R"(["w", "w2", "layers_{0..2}/q"])"));
}

TEST_CASE("a page has the mesh and the rules of its layout, and which devices share a node") {
  ComparedLayout layout = example();
  Layout& split = layout.report->layout;
  split.rules = {{"batch", {0}, {}}, {"heads", {1, 0}, {}}};
  split.limited_rules = {{{"d", {1}, {}}, "a/*"}};
  PageOptions options;
  options.ranks_per_node = 2;
  const Data details = page_data(report_html({layout}, options))["layouts"][0]["details"];
  CHECK(details["axes"] == parsed(R"([["rows", 2], ["cols", 16]])"));
  CHECK(details["rules"] == parsed(R"({"batch": ["rows"], "heads": ["cols", "rows"]})"));
  CHECK(details["limitedRules"] == parsed(R"([["d", ["cols"], {"in": "a/*"}]])"));
  CHECK(details["perNode"] == 2);
}

TEST_CASE("variables of a group, and what the optimizer keeps for them, are drawn apart") {
  ComparedLayout layout = example();
  layout.report->memory.variables = 700;
  layout.report->memory.optimizer_state = 60;
  layout.report->memory.groups = {{"experts", {600, 50}}};
  const Data details = details_of(layout);
  CHECK(details["step"]["layers"][0] == parsed(R"(["variables and state of experts", 0, [[0, 650]]])"));
  CHECK(details["step"]["layers"][1] == parsed(R"(["other variables and state", "variables", [[0, 110]]])"));
  CHECK(details["memory"]["groups"]["experts"] == parsed(R"({"variables": 600, "optimizer_state": 50})"));
}

TEST_CASE("the peak of the memory is drawn however many steps there are") {
  ComparedLayout layout = example();
  std::vector<int64_t> many(100000, 1);
  many[77777] = 899;
  const std::vector<int64_t> none(many.size());
  layout.report->memory_over_steps = {none, many, none, none, none, 77777};
  const Data drawing = details_of(layout)["step"];
  CHECK(drawing.dump().size() < 1000);
  CHECK(drawing["columns"] == 500);
  CHECK(changes_of(drawing, "activations") == parsed("[[0, 1], [388, 899], [389, 1]]"));
  CHECK(drawing["peakStep"] == 77777);
  CHECK(drawing["lastStep"] == 99999);
  CHECK(drawing["needed"] == parsed(R"([999, "999 B"])"));
}

TEST_CASE("the timeline has a lane for kernels and one for each group of axes") {
  CostReport report = *example().report;
  CHECK(step_of(report)["lanes"].empty());
  report.time.emplace().step_s = 4;
  report.steps[0].time = {1, 0, 1, "compute"};
  report.steps[1].time = {3, 1, 4, "network"};
  CHECK(step_of(report)["lanes"] ==
        parsed(R"([["", "1.00 s", "25 %", [[0.0, 250.0, "forward", "einsum h\", 1.00 s"]]],
                   ["rows", "3.00 s", "75 %", [[250.0, 750.0, "backward", "all_reduce s, 3.00 s"]]]])"));
  // A step that starts first may end last.
  StepCost first = report.steps[1], last = report.steps[1];
  first.time = {0.5, 1, 1.5, "network"};
  last.time = {1, 3, 4, "network"};
  report.steps = {last, first};
  const Data pieces = step_of(report)["lanes"][0][3];
  CHECK(pieces[0] == parsed(R"([750.0, 250.0, "backward", "all_reduce s, 1.00 s"])"));
  CHECK(pieces[1] == parsed(R"([250.0, 125.0, "backward", "all_reduce s, 500 ms"])"));
}

TEST_CASE("short pieces of a lane fill columns together, however many they are") {
  CostReport report = *example().report;
  report.time.emplace().step_s = 100000;
  report.steps.clear();
  for (int i = 0; i < 50000; ++i) report.steps.push_back(step("a", i, i + 0.5));
  report.steps.push_back(step("b", 70001, 70001.5));
  CHECK(step_of(report)["lanes"][0][3] == parsed(R"([[0, 500, "forward"], [700, 1, "forward"]])"));
}

TEST_CASE("a collective that is awaited long after its transfer is busy for its transfer alone") {
  ComparedLayout layout = example();
  CostReport& report = *layout.report;
  report.time.emplace().step_s = 8;
  report.steps = {step("a", 0, 8), step("b", 2, 7, {0})};
  report.steps[1].time.seconds = 1;  // and it is unpacked at 7
  const Data details = details_of(layout);
  CHECK(details["step"]["lanes"][1] ==
        parsed(R"(["rows", "1.00 s", "12 %", [[250.0, 125.0, "forward", "all_gather b, 1.00 s"]]])"));
  // The totals have the same figure.
  CHECK(details["totals"]["axes"][0] ==
        parsed(R"(["rows", [1, "1"], [1.0, "1.00 s"], [6, "6"], [4, "4 B"]])"));
}

TEST_CASE("time and memory share an axis") {
  // Steps 0 and 2 are kernels, and step 1 starts a collective that begins only after step 2.
  CostReport report = *example().report;
  TimeCost& time = report.time.emplace();
  time.step_s = 8;
  time.steps = {{2, 0, 2, ""}, {1, 6, 7, ""}, {4, 2, 6, ""}, {0, 6, 8, ""}};
  report.steps = {step("a", 0, 2), step("b", 2, 6), step("c", 6, 7, {0})};
  report.memory = {};
  report.memory.variables = 500;
  report.memory_over_steps = {{0, 0, 0, 0}, {250, 0, 500, 0}, {0, 0, 0, 0}, {0, 0, 0, 0}, {0, 0, 0, 0}, 2};
  const Data drawing = step_of(report);
  CHECK(drawing["isOverTime"] == true);
  // 250 bytes for two of eight seconds, which are 125 of 500 columns, then 500 for four.
  CHECK(changes_of(drawing, "activations") == parsed("[[0, 250], [125, 500], [375, 0]]"));
}

TEST_CASE("all rounds of a loop are drawn") {
  CostReport report = *example().report;
  TimeCost& time = report.time.emplace();
  time.step_s = 10;
  time.steps = {{1, 0, 1, ""}, {1, 1, 2, ""}, {0, 2, 10, ""}, {0, 10, 10, ""}};
  time.loops = {{0, 2, 2, 5}};
  report.steps = {step("a", 0, 1), step("b", 1, 2, {0})};
  for (StepCost& each : report.steps) {
    each.time.seconds = 5;
    each.count.runs = 5;
  }
  report.memory = {};
  report.memory_over_steps = {{0, 0, 0, 0}, {100, 400, 0, 0}, {0, 0, 0, 0}, {0, 0, 0, 0}, {0, 0, 0, 0}, 1};
  const Data drawing = step_of(report);
  for (const Data& lane : drawing["lanes"]) {
    CHECK(lane[1] == "5.00 s");
    CHECK(lane[2] == "50 %");
    CHECK(lane[3].size() == 5);
  }
  for (size_t round = 0; round < 5; ++round)
    CHECK(drawing["lanes"][0][3][round][0] == 200.0 * static_cast<double>(round));
  CHECK(drawing["lanes"][0][3][0][1] == 100.0);
  const Data changes = changes_of(drawing, "activations");
  CHECK(changes.size() == 10);
  CHECK(changes[2] == parsed("[100, 100]"));
  CHECK(changes[3] == parsed("[150, 400]"));
}

TEST_CASE("steps that differ in the number of a repetition are one row") {
  ComparedLayout layout = example();
  CostReport& report = *layout.report;
  report.time.emplace().step_s = 20;
  report.steps.clear();
  for (int i = 0; i < 3; ++i) {
    StepCost made = step(fmt::format("layers_{}/q", i), i, i + 1.5);
    made.index = i;
    made.source = "/ops/4";
    report.steps.push_back(made);
  }
  report.steps.push_back(step("alone", 3, 5));
  const Data operations = details_of(layout)["operations"];
  CHECK(operations["all"] == 2);
  CHECK(
      operations["rows"][0] ==
      parsed(R"([["layers_{0..2}/q", ["0: step 0", "1: step 1", "2: step 2"], "/ops/4"], "einsum", "forward",
                  [3, "3"], [4.5, "4.50 s"], [18, "18"], [0, "0 B"], "", [1001, "1001 B"], 0])"));
  CHECK(operations["rows"][1][0] == parsed(R"(["alone", [], ""])"));
  // Members that take different times have their own.
  report.steps[1].time.seconds = 3;
  const Data members = details_of(layout)["operations"]["rows"][0][0][1];
  CHECK(members[0] == "0: step 0, 1.50 s");
  CHECK(members[1] == "1: step 1, 3.00 s");
  // A step that computes more is not a repetition.
  report.steps[2].count.flops = 7;
  CHECK(details_of(layout)["operations"]["rows"][0][0][0] == "layers_{0,1}/q");
  // Those whose sources differ have none.
  report.steps[1].source = "/ops/5";
  CHECK(details_of(layout)["operations"]["rows"][0][0][2] == "");
}

TEST_CASE("tensors alive at the peak that differ in the number of a repetition are one row") {
  ComparedLayout layout = example();
  layout.report->alive_at_peak = {
      {"b_1/h", "activation", 40, 3, 8}, {"w", "variable", 60, 0, 9}, {"b_0/h", "activation", 40, 1, 5}};
  const Data alive = details_of(layout)["alive"];
  CHECK(alive == parsed(R"({"all": 2, "rows": [
          [["b_{0,1}/h", ["1: steps 3 to 8", "0: steps 1 to 5"], ""], "activation", [2, "2"], [80, "80 B"], 1, 8],
          [["w", [], ""], "variable", [1, "1"], [60, "60 B"], 0, 9]]})"));
  CHECK(details_of(layout, 1)["alive"]["rows"].size() == 1);
}

TEST_CASE("totals are by kind of step, by axis and by block") {
  ComparedLayout layout = example();
  layout.report->time.emplace().step_s = 4;
  layout.report->steps = {step("layers_0/ffn/y", 0, 1), step("layers_1/ffn/y", 1, 3), step("z", 3, 4, {0}),
                          step("z2", 3, 3.5, {1})};
  const Data totals = details_of(layout)["totals"];
  CHECK(totals["kinds"] == parsed(R"([["all_gather", [2, "2"], [1.5, "1.50 s"], [12, "12"], [8, "8 B"]],
                   ["einsum", [2, "2"], [3.0, "3.00 s"], [12, "12"], [0, "0 B"]]])"));
  CHECK(totals["axes"].size() == 2);
  CHECK(totals["blocks"][0] == parsed(R"(["layers_{0,1}/ffn", [3.0, "3.00 s"], [3.0, "3.00 s"], [0.0, "0 s"],
                                          [0.0, "0 s"], [0.0, "0 %"], [0, "0 B"]])"));
  CHECK(totals["blocks"][1][0] == "(no block)");
  layout.report->time.reset();
  CHECK(details_of(layout)["totals"]["blocks"].empty());
}

TEST_CASE("layouts come the best first, by their numbers, and impossible ones with their reasons") {
  ComparedLayout layout = example();
  layout.layout.rules = {{"batch", {0}, {}}};
  layout.report->layout = layout.layout;
  ComparedLayout impossible = example();
  impossible.report.reset();
  impossible.reason = "x<y";
  const Data data = data_of({impossible, layout});
  CHECK(data["hasBest"] == true);
  CHECK(data["entry"] == "train");
  CHECK(data["layouts"][0]["number"] == 2);
  CHECK(data["layouts"][0]["name"] == "rows:2,cols:16 / batch:rows");
  CHECK(data["layouts"][0]["devices"] == parsed(R"([32, "32"])"));
  CHECK(data["layouts"][0]["isFirst"] == true);
  CHECK(data["layouts"][1]["reason"] == "x<y");
  CHECK_FALSE(data["layouts"][1].contains("details"));
}

TEST_CASE("the best eight layouts have details") {
  const Data data = data_of(std::vector<ComparedLayout>(10, example()));
  CHECK(data["layouts"].size() == 10);
  CHECK(data["layouts"][7].contains("details"));
  CHECK_FALSE(data["layouts"][8].contains("details"));
}

TEST_CASE("the comparison says what training on all tokens takes, if it is known") {
  CHECK_FALSE(data_of({example(), example()})["layouts"][0].contains("duration"));
  ComparedLayout layout = example();
  TrainingCost& training = layout.report->training.emplace();
  training.tokens_per_second = 12345.6;
  training.tokens = 1000;
  training.seconds = 7200;
  const Data unpriced = data_of({layout, example()})["layouts"][0];
  CHECK(unpriced["tokens"] == "12,346");
  CHECK(unpriced["duration"] == parsed(R"([7200.0, "2.00 hours"])"));
  CHECK_FALSE(unpriced.contains("price"));
  training.price = 1250;
  CHECK(data_of({layout})["layouts"][0]["price"] == parsed(R"([1250.0, "1,250"])"));
}

TEST_CASE("a page says where its figures come from") {
  PageOptions options;
  options.origin.command = "mtfc cost-report 'a<b.json'";
  options.origin.version = "mtfc 9.8.7";
  options.origin.sets = {"layers=<2>", "d=3"};
  Hardware& hardware = options.origin.hardware.emplace();
  hardware.name = "b&x";
  hardware.flops = {{"f32", 2.5e12}};
  hardware.memory_bytes = 1024.0 * 1024 * 1024;
  hardware.axes["*"].latency_s = 2e-6;
  hardware.topology = Topology::kTwoLevel;
  hardware.devices_per_node = 16;
  const std::string page = report_html({example()}, options);
  const Data origin = page_data(page)["origin"];
  CHECK(origin["facts"] ==
        parsed(R"([["command", "mtfc cost-report 'a<b.json'", true], ["made by", "mtfc 9.8.7", false],
                  ["model", "a<b", false], ["set", "layers=<2>, d=3", true], ["hardware", "b&x", false]])"));
  const std::string facts = origin["hardware"].dump();
  for (const char* fact : {R"(["arithmetic, f32","2.50 TFLOP per s"])", R"(["memory","1 GiB"])",
                           R"(["devices per node","16"])", R"(["links","latency 2.00 us, at most )"})
    CHECK_MESSAGE(has(facts, fact), facts);
  CHECK(page == report_html({example()}, options));
}

TEST_CASE("a layout has its figures as numbers and texts, and what it lacks") {
  ComparedLayout layout = example();
  CostReport& report = *layout.report;
  TimeCost& time = report.time.emplace();
  time.step_s = 4;
  time.compute_s = 3;
  time.efficiency = 0.125;
  time.hardware = "h<1>";
  report.memory.peak = 1 << 20;
  const Data plain = data_of({layout})["layouts"][0];
  CHECK(plain["step"] == parsed(R"([4.0, "4.00 s"])"));
  CHECK(plain["computes"] == 3);
  CHECK(plain["waiting"] == "25 %");
  CHECK(plain["efficiency"] == "12.5 %");
  CHECK(plain["hardware"] == "h<1>");
  CHECK(plain["memory"] == parsed(R"([1048576, "1.00 MiB"])"));
  CHECK_FALSE(plain.contains("limit"));
  report.device_memory = 1 << 21;
  const Data fitting = data_of({layout})["layouts"][0];
  CHECK(fitting["limit"] == parsed(R"([2097152, "2 MiB"])"));
  CHECK_FALSE(fitting.contains("excess"));
  report.device_memory = 1 << 19;
  const Data large = data_of({layout});
  CHECK(large["hasBest"] == false);
  CHECK(large["layouts"][0]["excess"] == "512 KiB");
  CHECK(large["layouts"][0]["details"]["step"]["excess"] == "512 KiB");
  report.device_memory = 2'000'000;
  CHECK(data_of({layout})["layouts"][0]["isDecimal"] == true);
}

TEST_CASE("what a page holds is drawn") {
  if (!has_script_engine()) return skip_without("node", "no page of a cost report is drawn");
  std::vector<ComparedLayout> layouts(3, example());
  for (size_t i = 0; i < 3; ++i) {
    layouts[i].report->time.emplace().step_s = static_cast<double>(i + 1);
    layouts[i].report->memory.peak = i == 1 ? 1'000'000 : 2'000'000;
    layouts[i].report->device_memory = 1'500'000;
  }
  const std::string page = drawn(page_of(layouts));
  for (const char* part :
       {"<h1>a&lt;b</h1>",
        "Of 3 layouts, number 2 is the best: <strong>rows:2,<wbr>cols:16 / no rules</strong>, 2.00 s a "
        "step and 1.00 MB of memory on each of 32 devices; 2 do not fit.",
        "2.00 MB, does not fit: 500 kB too much", "The red line marks the 1.5 MB of a device.",
        "which are filled: 2.", "<h3>A step over time</h3>", "<h4>w, w2</h4>", "1 s</small>", "1 MB</small>"})
    CHECK_MESSAGE(has(page, part), std::string(part));
  for (const char* part : {"undefined", "NaN", "[object"}) CHECK_FALSE(has(page, part));
  // Without times, and alone.
  const std::string untimed = drawn(page_of({example()}));
  CHECK(has(untimed, "<h3>Memory over the steps</h3>"));
  CHECK(
      has(untimed,
          "A step computes 0 FLOP in einsums and sends 0 B on each of 32 devices, and needs 0 B of memory."));
  for (const char* part : {"undefined", "NaN", "[object"}) CHECK_FALSE(has(untimed, part));
}

}  // namespace mtfc::report_html_test
