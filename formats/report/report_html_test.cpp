#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "core/testing/text.h"
#include "formats/report/report_writer.h"
#include "formats/text/html_text.h"

namespace mtfc::report_html_test {

namespace {

ComparedLayout example(std::vector<int64_t> order = {}) {
  ComparedLayout made;
  made.model = "a<b";
  made.layout.mesh = Mesh({{"rows", 2}, {"cols", 16}}, std::move(order));
  CostReport& report = made.report.emplace();
  report.model = made.model;
  report.entry = "train";
  report.layout = made.layout;
  report.memory.variables = 100;
  report.memory_over_steps = {{1, 1}, {2, 900}, {3, 0}, {0, 0}, 1};
  report.steps = {{"h\"", "einsum", "/ops/0", Phase::kForward, {}, {5, 5, 0, 0}, {}, 0},
                  {"s", "all_reduce", "", Phase::kBackward, {0}, {0, 0, 3, 12}, {}, 1}};
  report.tensors = {
      {"x", {{"batch", 5}, {"io", 7}}, {{{0}, {}}, {}}, {3, 7}, {2, 7}},
      {"w", {{"io", 7}, {"hidden", 64}}, {{{}, {1}}, {{0, ReduceKind::kSum}}}, {7, 4}, {7, 4}},
      {"w2", {{"io", 7}, {"hidden", 64}}, {{{}, {1}}, {{0, ReduceKind::kSum}}}, {7, 4}, {7, 4}}};
  return made;
}

size_t count(const std::string& text, const std::string& part) {
  size_t times = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++times;
  return times;
}

}  // namespace

TEST_CASE("a page stands alone and keeps names out of its markup") {
  const std::string page = report_html({example()}, 10);
  CHECK(page.starts_with("<!doctype html>\n"));
  CHECK(page.ends_with("</html>\n"));
  for (const char* loaded : {"http:", "https:", "src=", "<link", "@import", "url("})
    CHECK_FALSE(has(page, loaded));
  CHECK(has(page, "<h1>a&lt;b</h1>"));
  CHECK(has(page, "h&quot;"));
  CHECK_FALSE(has(page, "A step over time"));
  CHECK(has(report_html({example()}, 1), "The 1 costliest of 2"));
}

TEST_CASE("a collective's step links to what it is for") {
  ComparedLayout layout = example();
  ReshardStep& reshard = layout.reshards.emplace_back();
  reshard.step = StepIndex(1);
  reshard.tensor = "s";
  reshard.type = {DType::kF32, {{"io", 7}}};
  reshard.collective = {CollectiveKind::kAllReduce, {0}};
  reshard.from = {{{}}, {{0, ReduceKind::kSum}}};
  reshard.to = {{{}}, {}};
  reshard.maker = {"s", "einsum", "/ops/0", {}};
  reshard.readers = {{"y<", "relu", "/ops/1", {}}};
  reshard.bytes = 12;
  const std::string page = report_html({layout}, 10);
  CHECK(has(page, "<a href=\"#collective-1-1\">all_reduce</a>"));
  CHECK(has(page, "<tr id=collective-1-1><td>s</td><td data-v=\"12\">12 B</td><td data-v=\"1\">1</td>"));
  CHECK(has(page, ">all_reduce<br>over rows</td><td class=\"word flow\">[io, sum over rows]<br>[io]</td>"));
  CHECK(has(page, "<span title=\"/ops/1\">relu y&lt;</span>"));
  // The smaller collectives of a long page are left out, and nothing links to them.
  layout.reshards.push_back(reshard);
  layout.reshards.back().bytes = 20;
  layout.reshards.back().step = StepIndex(0);
  CHECK_FALSE(has(report_html({layout}, 1), "collective-1-1"));
}

TEST_CASE("tensors are drawn as matrices of shards with their ranks") {
  const std::string drawn = tensor_drawings(*example().report);
  CHECK(count(drawn, "<figure>") == 2);  // w and w2 are alike
  CHECK(
      has(drawn,
          "<h4>w, w2</h4><p>io 7 &times; hidden 64; unreduced over rows: each rank holds a part of its sum"));
  // Rows 0 and 1 of x are on the first row of the mesh, ranks 0 to 15; rows 2 to 4 on the second.
  CHECK(has(drawn,
            "<th>0&ndash;1</th><td style=\"background:hsl(0 70% 85%)\">0 1 2 &#8230; 15 <small>(16 ranks)"));
  CHECK(has(drawn, "<th>2&ndash;4</th><td style=\"background:hsl(47 70% 85%)\">16 17 18 &#8230; 31 <small>"));
  // w has 16 shards across: six, a gap, and the last one; each is on two ranks.
  CHECK(has(drawn, "<th>&#8943;</th><th>60&ndash;63</th>"));
  CHECK(has(drawn, ">5 21</td><td class=gap>&#8943;</td>"));
  CHECK(has(drawn, ">15 31</td></tr>"));
}

TEST_CASE("drawings follow the device order") {
  std::vector<int64_t> order(32);
  for (int64_t i = 0; i < 32; ++i) order[static_cast<size_t>(i)] = 31 - i;
  CHECK(has(tensor_drawings(*example(order).report), ">26 10</td><td class=gap>"));
}

TEST_CASE("variables of a group, and what the optimizer keeps for them, are drawn apart") {
  CostReport report = *example().report;
  report.memory.variables = 700;
  report.memory.optimizer_state = 60;
  report.memory.groups = {{"experts", {600, 50}}};
  const std::string drawn = memory_drawing(report);
  CHECK(has(drawn, "variables and state of experts"));
  CHECK(has(drawn, "other variables and state"));
}

TEST_CASE("the peak of the memory is drawn however many steps there are") {
  CostReport report = *example().report;
  std::vector<int64_t> many(100000, 1);
  many[77777] = 899;
  const std::vector<int64_t> none(many.size());
  report.memory_over_steps = {none, many, none, none, 77777};
  const std::string drawn = memory_drawing(report);
  CHECK(drawn.size() < 150000);
  CHECK(has(drawn, " 0.00H"));
  CHECK(has(drawn, "most in step 77777"));
}

TEST_CASE("the timeline has a lane for kernels and one for each group of axes") {
  CostReport report = *example().report;
  CHECK(timeline_drawing(report).empty());
  report.time.emplace().step_s = 4;
  report.steps[0].time = {1, 0, 1, "compute"};
  report.steps[1].time = {3, 1, 4, "network"};
  const std::string drawn = timeline_drawing(report);
  CHECK(has(drawn, "kernels, busy for 1.00 s (25 %)"));
  CHECK(has(drawn, "communication over rows, busy for 3.00 s (75 %)"));
  CHECK(has(drawn, "<rect x=\"250.00\" width=\"750.00\""));
  // A step that starts first may end last.
  StepCost first = report.steps[1], last = report.steps[1];
  first.time = {0.5, 1, 1.5, "network"};
  last.time = {1, 3, 4, "network"};
  report.steps = {last, first};
  CHECK(has(timeline_drawing(report), "<rect x=\"250.00\" width=\"125.00\""));
  CHECK(has(timeline_drawing(report), "<rect x=\"750.00\" width=\"250.00\""));
}

}  // namespace mtfc::report_html_test
