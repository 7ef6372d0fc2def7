#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "core/testing/text.h"
#include "formats/report/html_sections.h"
#include "formats/report/html_tensors.h"
#include "formats/report/report_writer.h"

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

std::string page_of(const std::vector<ComparedLayout>& layouts, size_t top = 10) {
  PageOptions options;
  options.top = top;
  return report_html(layouts, options);
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

TEST_CASE("a page stands alone and keeps names out of its markup") {
  const std::string page = page_of({example()});
  CHECK(page.starts_with("<!doctype html>\n"));
  CHECK(page.ends_with("</html>\n"));
  for (const char* loaded : {"http:", "https:", "src=", "<link", "@import", "url("})
    CHECK_FALSE(has(page, loaded));
  // Buttons and fields work with the script alone, so it makes them.
  const std::string markup = page.substr(0, page.find("<script>"));
  for (const char* idle : {"<button", "<input", " title=\"", "onclick"}) CHECK_FALSE(has(markup, idle));
  CHECK(has(page, "<h1>a&lt;b</h1>"));
  CHECK(has(page, "h&quot;"));
  CHECK_FALSE(has(page, "A step over time"));
  CHECK(has(page_of({example()}, 1), "The 1 costliest of 2"));
}

TEST_CASE("a collective's step links to what it is for") {
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
  const std::string page = page_of({layout});
  CHECK(has(page, "<a href=\"#collective-1-1\">all_reduce</a>"));
  CHECK(has(page,
            "<tr id=collective-1-1><th scope=row>s</th><td data-v=\"12\">12 B</td><td data-v=\"1\">1</td>"));
  CHECK(has(page, ">all_reduce<br>over rows</td><td class=\"word flow\">[io, sum over rows]<br>[io]</td>"));
  CHECK(has(page, "relu y&lt; <small>/ops/1</small>"));
  // The smaller collectives of a long page are left out, and nothing links to them.
  layout.reshards.push_back(reshard);
  layout.reshards.back().bytes = 20;
  layout.reshards.back().step = StepIndex(0);
  CHECK_FALSE(has(page_of({layout}, 1), "collective-1-1"));
}

TEST_CASE("tensors are drawn as matrices of shards with their ranks") {
  const std::string drawn = tensor_drawings(*example().report);
  CHECK(count(drawn, "<figure>") == 2);  // w and w2 are alike
  CHECK(
      has(drawn,
          "<h4>w, w2</h4><p>io 7 &times; hidden 64; unreduced over rows: each rank holds a part of its sum"));
  // Rows 0 and 1 of x are on the first row of the mesh, ranks 0 to 15; rows 2 to 4 on the second.
  CHECK(has(drawn,
            "<th scope=row>0&ndash;1</th><td style=\"background:hsl(0 70% 85%)\">0 1 2 &#8230; 15 <small>(16 "
            "ranks)"));
  CHECK(has(
      drawn,
      "<th scope=row>2&ndash;4</th><td style=\"background:hsl(47 70% 85%)\">16 17 18 &#8230; 31 <small>"));
  // w has 16 shards across: six, a gap, and the last one; each is on two ranks.
  CHECK(has(drawn, "<th scope=col>&#8943;</th><th scope=col>60&ndash;63</th>"));
  CHECK(has(drawn, ">5 21</td><td class=gap>&#8943;</td>"));
  CHECK(has(drawn, ">15 31</td></tr>"));
}

TEST_CASE("drawings follow the device order") {
  std::vector<int64_t> order(32);
  for (int64_t i = 0; i < 32; ++i) order[static_cast<size_t>(i)] = 31 - i;
  CHECK(has(tensor_drawings(*example(order).report), ">26 10</td><td class=gap>"));
}

TEST_CASE("tensors of repeated blocks share a name") {
  CostReport report = *example().report;
  for (const char* name : {"layers_0/q", "layers_1/q", "layers_2/q"}) {
    report.tensors.push_back(report.tensors[1]);
    report.tensors.back().name = name;
  }
  CHECK(has(tensor_drawings(report), "<h4>w, w2, layers_{0..2}/q</h4>"));
}

TEST_CASE("variables of a group, and what the optimizer keeps for them, are drawn apart") {
  CostReport report = *example().report;
  report.memory.variables = 700;
  report.memory.optimizer_state = 60;
  report.memory.groups = {{"experts", {600, 50}}};
  const std::string drawn = step_drawing(report);
  CHECK(has(drawn, "variables and state of experts"));
  CHECK(has(drawn, "other variables and state"));
}

TEST_CASE("the peak of the memory is drawn however many steps there are") {
  CostReport report = *example().report;
  std::vector<int64_t> many(100000, 1);
  many[77777] = 899;
  const std::vector<int64_t> none(many.size());
  report.memory_over_steps = {none, many, none, none, 77777};
  const std::string drawn = step_drawing(report);
  CHECK(drawn.size() < 5000);
  CHECK(has(drawn, "V0H"));
  CHECK(has(drawn, "most in step 77777"));
  CHECK(has(drawn, "<span>step 99999</span>"));
}

TEST_CASE("the timeline has a lane for kernels and one for each group of axes") {
  CostReport report = *example().report;
  CHECK_FALSE(has(step_drawing(report), "class=lane"));
  report.time.emplace().step_s = 4;
  report.steps[0].time = {1, 0, 1, "compute"};
  report.steps[1].time = {3, 1, 4, "network"};
  const std::string drawn = step_drawing(report);
  CHECK(has(drawn, "kernels, busy for 1.00 s (25 %)"));
  CHECK(has(drawn, "communication over rows, busy for 3.00 s (75 %)"));
  CHECK(has(drawn, "x=\"250.0\" width=\"750.0\""));
  // A step that starts first may end last.
  StepCost first = report.steps[1], last = report.steps[1];
  first.time = {0.5, 1, 1.5, "network"};
  last.time = {1, 3, 4, "network"};
  report.steps = {last, first};
  CHECK(has(step_drawing(report), "x=\"250.0\" width=\"125.0\""));
  CHECK(has(step_drawing(report), "x=\"750.0\" width=\"250.0\""));
}

TEST_CASE("a collective that is awaited long after its transfer is busy for its transfer alone") {
  CostReport report = *example().report;
  report.time.emplace().step_s = 8;
  report.steps = {step("a", 0, 8), step("b", 2, 7, {0})};
  report.steps[1].time.seconds = 1;  // and it is unpacked at 7
  const std::string drawn = step_drawing(report);
  CHECK(has(drawn, "communication over rows, busy for 1.00 s (12 %)"));
  CHECK(has(drawn, "x=\"250.0\" width=\"125.0\""));
  // The totals have the same figure.
  CHECK(
      has(totals_tables(report, 3), "<th scope=row>rows</th><td data-v=\"1\">1</td><td data-v=\"1\">1.00 s"));
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
  report.memory_over_steps = {{0, 0, 0, 0}, {250, 0, 500, 0}, {0, 0, 0, 0}, {0, 0, 0, 0}, 2};
  const std::string drawn = step_drawing(report);
  // Activations: 250 bytes for two of eight seconds, which are 125 of 500 columns, then 500 for four.
  CHECK(has(drawn, "<path class=c13 d=\"M0 100V25H125V0H375V50H500V100z\"/>"));
  CHECK(has(drawn, "<span style=\"left:0.0%\">0 s</span><span style=\"left:25.0%\">2 s</span>"));
  CHECK(count(drawn, "class=axis") == 1);
  // The same lines in both lanes and, half as wide, in the memory.
  CHECK(count(drawn, "M250.0 0v10M500.0 0v10M750.0 0v10M1000.0 0v10") == 2);
  CHECK(has(drawn, "<g transform=\"scale(0.5)\"><path class=tick d=\"M250.0 0v200M500.0"));
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
  report.memory_over_steps = {{0, 0, 0, 0}, {100, 400, 0, 0}, {0, 0, 0, 0}, {0, 0, 0, 0}, 1};
  const std::string drawn = step_drawing(report);
  CHECK(has(drawn, "kernels, busy for 5.00 s (50 %)"));
  CHECK(has(drawn, "communication over rows, busy for 5.00 s (50 %)"));
  for (const char* begin : {"0.0", "200.0", "400.0", "600.0", "800.0"})
    CHECK(has(drawn, std::string("x=\"") + begin + "\" width=\"100.0\""));
  CHECK(has(drawn, "M0 100V75H50V0H100V75H150V0H200"));
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
  const std::string page = page_of({layout});
  CHECK(has(page,
            "<th scope=row><details><summary>layers_{0..2}/q</summary><div class=members>0: step 0\n1: step "
            "1\n2: step 2\n</div></details> <small>/ops/4</small></th>"));
  CHECK(has(page, "<td data-v=\"3\">3</td><td data-v=\"4.5\">4.50 s</td><td data-v=\"18\">18</td>"));
  CHECK(page.find("<summary>layers_{0..2}/q") < page.find("<th scope=row>alone"));
  CHECK(has(page, "All 2. Memory"));
  // Of many members, the list has the first ones and the last.
  for (int i = 3; i < 40; ++i) report.steps.push_back(step(fmt::format("layers_{}/q", i), i, i + 1.5));
  CHECK(has(page_of({layout}), "22: step 0\nand 16 more, up to\n39: step 0\n</div>"));
  report.steps.resize(4);
  // Members that take different times have their own.
  report.steps[1].time.seconds = 3;
  CHECK(has(page_of({layout}), "0: step 0, 1.50 s\n1: step 1, 3.00 s\n"));
  // A step that computes more is not a repetition.
  report.steps[2].count.flops = 7;
  CHECK(has(page_of({layout}), "<summary>layers_{0,1}/q</summary>"));
}

TEST_CASE("tensors alive at the peak that differ in the number of a repetition are one row") {
  CostReport report;
  report.alive_at_peak = {
      {"b_1/h", "activation", 40, 3, 8}, {"w", "variable", 60, 0, 9}, {"b_0/h", "activation", 40, 1, 5}};
  const std::string table = alive_table(report, 10);
  CHECK(has(table, "<summary>b_{0,1}/h</summary><div class=members>1: steps 3 to 8\n0: steps 1 to 5\n"));
  CHECK(has(table,
            "<td data-v=\"2\">2</td><td data-v=\"80\">80 B</td><td data-v=\"1\">1</td><td "
            "data-v=\"8\">8</td></tr>"));
  CHECK(table.find("b_{0,1}/h") < table.find("<th scope=row>w</th>"));
  CHECK_FALSE(has(alive_table(report, 1), "<th scope=row>w</th>"));
}

TEST_CASE("totals are by kind of step, by axis and by block") {
  CostReport report = *example().report;
  report.time.emplace().step_s = 4;
  report.steps = {step("layers_0/ffn/y", 0, 1), step("layers_1/ffn/y", 1, 3), step("z", 3, 4, {0}),
                  step("z2", 3, 3.5, {1})};
  const std::string tables = totals_tables(report, 3);
  CHECK(
      has(tables,
          "<th scope=row>einsum</th><td data-v=\"2\">2</td><td data-v=\"3\">3.00 s<div class=bar><i class=c1 "
          "style=\"width:100.0%\"></i></div></td>"));
  CHECK(has(tables,
            "<th scope=row>all_gather</th><td data-v=\"2\">2</td><td data-v=\"1.5\">1.50 s<div class=bar><i "
            "class=c3 style=\"width:50.0%\"></i></div></td>"));
  CHECK(has(tables, "<td data-v=\"8\">8 B<div class=bar>"));
  CHECK(tables.find("<th scope=row>rows</th>") < tables.find("<th scope=row>cols</th>"));
  CHECK(has(tables, "<th scope=row>layers_{0,1}/ffn</th>"));
  CHECK(has(tables, "<th scope=row>(no block)</th>"));
}

TEST_CASE("devices are drawn with their ranks and nodes") {
  Layout layout;
  layout.mesh = Mesh({{"rows", 2}, {"co<ls", 4}});
  layout.rules = {{"batch", {0}, {}}, {"heads", {1}, {}}};
  const std::string plain = mesh_drawing(layout, 0);
  CHECK(has(plain, "<caption>rows down, co&lt;ls across</caption>"));
  CHECK(has(plain, "<th scope=row>1</th><td class=device>4</td><td class=device>5</td>"));
  CHECK(has(plain, "<th scope=row>rows</th><td data-v=\"2\">2</td><td class=word>batch</td></tr>"));
  // Nodes of two: ranks 0 and 1 side by side.
  const std::string nodes = mesh_drawing(layout, 2);
  CHECK(has(nodes, "mark nodes: 4 nodes of 2 consecutive ranks"));
  CHECK(has(
      nodes,
      "<td class=\"device top low left\" style=\"background:hsl(0 70% 85%)\">0</td><td class=\"device top "
      "right low\" style=\"background:hsl(0 70% 85%)\">1</td>"));
  CHECK(has(nodes, "<td class=word>batch</td><td class=word>between nodes</td>"));
  CHECK(has(nodes, "<td class=word>heads</td><td class=word>inside nodes and between them</td>"));
  CHECK(has(mesh_drawing(layout, 4), "<td class=word>heads</td><td class=word>inside a node</td>"));
  CHECK(has(mesh_drawing({}, 4), "One device"));
  // A device order moves ranks, and with them the nodes.
  layout.mesh = Mesh({{"a", 2}, {"b", 2}}, {0, 2, 1, 3});
  CHECK(has(mesh_drawing(layout, 2), ">0</td><td class=\"device top right left\" style=\"background:hsl(47"));
}

TEST_CASE("a large mesh is drawn small") {
  Layout layout;
  layout.mesh = Mesh({{"pods", 4}, {"rows", 32}, {"cols", 32}});
  const std::string drawn = mesh_drawing(layout, 8);
  CHECK(drawn.size() < 12000);
  CHECK(has(drawn, "<caption>pods+rows down, cols across</caption>"));
  CHECK(has(drawn, "512 nodes of 8 consecutive ranks"));
  CHECK(has(drawn, "<th scope=row>3 &middot; 31</th>"));
  CHECK(has(drawn, ">4095</td>"));
  CHECK(has(drawn, "<td>&#8942;</td>"));
}

TEST_CASE("a page has a table of contents") {
  ComparedLayout layout = example();
  layout.layout.rules = {{"batch", {0}, {}}};
  layout.report->layout = layout.layout;
  ComparedLayout impossible = example();
  impossible.report.reset();
  impossible.reason = "x<y";
  const std::string page = page_of({impossible, layout});
  const std::string nav = page.substr(page.find("<nav"), page.find("</nav>") - page.find("<nav"));
  for (size_t at = 0; (at = nav.find("href=\"#", at)) != std::string::npos;) {
    at += 7;
    CHECK(count(page, " id=" + nav.substr(at, nav.find('"', at) - at)) == 1);
  }
  CHECK(has(nav, "<a href=\"#details-2\">2 rows:2,<wbr>cols:16 / batch:rows</a>"));
  CHECK(has(page, "<a href=\"#details-2\">2 rows:2,<wbr>cols:16 / batch:rows</a></th>"));
  CHECK(has(page, "not possible: x&lt;y"));
}

TEST_CASE("the comparison says what training on all tokens takes, if it is known") {
  CHECK_FALSE(has(page_of({example(), example()}), "for all tokens"));
  ComparedLayout layout = example(), impossible = example();
  TrainingCost& training = layout.report->training.emplace();
  training.tokens = 1000;
  training.seconds = 7200;
  const std::string unpriced = page_of({layout, example()});
  CHECK(has(unpriced, "for all tokens"));
  CHECK_FALSE(has(unpriced, ">price</"));
  training.price = 1250;
  impossible.report.reset();
  impossible.reason = "no";
  const std::string page = page_of({layout, example(), impossible});
  CHECK(has(page, "<td data-v=\"7200\">2.00 hours</td><td data-v=\"1250\">1,250</td>"));
  CHECK(has(page, "colspan=5>not possible: no"));
}

TEST_CASE("a page says where its figures come from") {
  PageOptions options;
  options.origin.command = "mtfc cost-report 'a<b.json'";
  options.origin.version = "mtfc 9.8.7";
  options.origin.sets = {"layers=<2>"};
  Hardware& hardware = options.origin.hardware.emplace();
  hardware.name = "b&x";
  hardware.flops = {{"f32", 2.5e12}};
  hardware.memory_bytes = 1024.0 * 1024 * 1024;
  hardware.axes["*"].latency_s = 2e-6;
  hardware.topology = Topology::kTwoLevel;
  hardware.devices_per_node = 16;
  const std::string page = report_html({example()}, options);
  for (const char* fact :
       {"<dt>command</dt><dd><code>mtfc cost-report 'a&lt;b.json'</code></dd>", "<dd>mtfc 9.8.7</dd>",
        "<code>layers=&lt;2&gt;</code>", "<dt>hardware</dt><dd>b&amp;x</dd>",
        "<dt>arithmetic, f32</dt><dd>2.50 TFLOP per s</dd>", "<dt>memory</dt><dd>1 GiB</dd>",
        "<dt>devices per node</dt><dd>16</dd>", "latency 2.00 us"})
    CHECK(has(page, fact));
  CHECK(page == report_html({example()}, options));
}

TEST_CASE("a page begins with what it comes to, and has five large figures") {
  ComparedLayout layout = example();
  CostReport& report = *layout.report;
  TimeCost& time = report.time.emplace();
  time.step_s = 4;
  time.compute_s = 3;
  time.hardware = "h<1>";
  report.memory.peak = 1 << 20;
  CHECK(has(
      page_of({layout}),
      "<p class=\"verdict\">A step takes 4.00 s on 32 devices of h&lt;1&gt;, 25 % of it communication that "
      "kernels do not hide, and needs 1.00 MiB of memory.</p>"));
  report.device_memory = 1 << 21;
  CHECK(has(page_of({layout}), "; it fits, with 1.00 MiB of a device's 2 MiB.</p>"));
  report.device_memory = 1 << 19;
  const std::string page = page_of({layout});
  CHECK(page.find("<p class=\"verdict bad\">") < page.find("<nav"));
  CHECK(has(page,
            "<p class=\"verdict bad\"><strong>Does not fit:</strong> a device needs 1.00 MiB of memory, 512 "
            "KiB more "
            "than it has. A step takes 4.00 s"));
  const size_t large = page.find("<dl class=\"figures large\">"), end = page.find("</dl>", large);
  CHECK(count(page.substr(large, end - large), "<dt>") == 5);
  CHECK(count(page.substr(large, end - large), "<div class=bad>") == 1);
  CHECK(page.find("<summary>More figures</summary>") > end);
  // Several: the best one, and how many there are of the others.
  ComparedLayout fitting = example(), impossible = example();
  impossible.report.reset();
  const std::string several = page_of({layout, fitting, impossible});
  CHECK(has(several, "<p class=\"verdict\">Of 3 layouts, number 2 is the best: <strong>rows:2,<wbr>cols:16"));
  CHECK(has(several, "; 1 does not fit; 1 is not possible.</p>"));
}

TEST_CASE("of layouts that do not fit, none is called the best, and all that shows their memory is red") {
  std::vector<ComparedLayout> layouts(3, example());
  for (size_t i = 0; i < 3; ++i) {
    layouts[i].report->time.emplace().step_s = static_cast<double>(i + 1);
    layouts[i].report->memory.peak = static_cast<int64_t>(5 - i) << 20;  // 5, 4 and 3 MiB
    layouts[i].report->device_memory = 2 << 20;
  }
  const std::string page = page_of(layouts);
  CHECK(has(page,
            "<p class=\"verdict bad\">None of the 3 layouts fits: number 3, the smallest, needs 3.00 MiB of "
            "memory, 1.00 MiB more than a device has.</p>"));
  CHECK(has(page, "The layout that needs least memory comes first."));
  for (const char* praise : {"The best", "class=best", "is the best"}) CHECK_FALSE(has(page, praise));
  CHECK(has(page, "1.00 MiB too much</span><div class=bar><i class=c5 style=\"width:60.0%\">"));
  CHECK(count(page, "<div class=bar><i class=c5 ") == 3);
  CHECK(count(page, "<span class=\"front over\" ") == 3);
  CHECK(
      has(page, " The red line marks the 2 MiB of a device. What does not fit is red. No other layout has"));
  CHECK(count(page, "<i class=limit style=\"bottom:") == 1);
  CHECK(
      has(page_of({layouts[0], layouts[1]}), "Neither of the 2 layouts fits: number 2, the smallest, needs"));
  ComparedLayout impossible = example();
  impossible.report.reset();
  CHECK(
      has(page_of({layouts[0], impossible}),
          "The only layout that is possible does not fit: it needs 5.00 MiB of memory, 3.00 MiB more than a "
          "device has; 1 is not possible.</p>"));
  CHECK(has(page_of({layouts[0], layouts[1], layouts[2], impossible}),
            "None of the 3 layouts that are possible fits: number 3, "));
  // The smallest fits.
  for (ComparedLayout& layout : layouts) layout.report->device_memory = 7 << 19;  // 3.5 MiB
  const std::string mixed = page_of(layouts);
  CHECK(count(mixed, "<div class=bar><i class=c5 ") == 2);
  CHECK(count(mixed, "<span class=\"number over\" ") == 2);
  CHECK(count(mixed, "<span class=front ") == 1);
  CHECK(has(mixed, "No other layout that fits has as short a step"));
  CHECK(has(mixed, "The best comes first."));
  // All fit by far: a line would leave no room for the points.
  for (ComparedLayout& layout : layouts) layout.report->device_memory = 80'000'000'000;
  CHECK_FALSE(has(page_of(layouts), "<i class=limit"));
  CHECK_FALSE(has(page_of(layouts), "The red line"));
}

TEST_CASE("the memory of a device is a line in the drawing, unless it is far above the peak") {
  CostReport report = *example().report;
  report.memory.peak = 1000;
  CHECK_FALSE(has(step_drawing(report), "class=limit"));
  report.device_memory = 500;
  const std::string drawn = step_drawing(report);
  CAPTURE(drawn);
  CHECK(has(drawn, "<path class=limit d=\"M0 50H2000\"/>"));
  CHECK(has(
      drawn,
      "<p class=\"scale bad\">memory, 1.00 kB at the peak, most in step 1, 501 B more than the 500 B of a "
      "device, which the red line marks</p>"));
  report.device_memory = 2000;
  CHECK(has(step_drawing(report), "<path class=limit d=\"M0 1.96H2000\"/>"));
  CHECK_FALSE(has(step_drawing(report), "bad"));
  report.device_memory = 100000;
  CHECK_FALSE(has(step_drawing(report), "class=limit"));
}

TEST_CASE("points of layouts are numbered, and the list says which ones no other beats") {
  std::vector<ComparedLayout> layouts(3, example());
  for (size_t i = 0; i < 3; ++i) {
    layouts[i].report->time.emplace().step_s = static_cast<double>(i + 1);
    layouts[i].report->memory.peak = i == 1 ? 100 : 200;
  }
  const std::string page = page_of(layouts);
  CHECK(has(page, "which are filled: 1, 2."));
  CHECK(count(page, "<span class=front ") == 2);
  CHECK(count(page, "<span class=number ") == 1);
  CHECK_FALSE(has(page_of({layouts[0], layouts[1]}), "<div class=cloud"));
}

}  // namespace mtfc::report_html_test
