#include <doctest/doctest.h>

#include <sstream>
#include <string>

#include "core/testing/text.h"
#include "formats/report/report_writer.h"

namespace mtfc::report_table_test {

namespace {

ComparedLayout example(int64_t rows, int64_t bytes, const std::string& dim = "batch") {
  CostReport report;
  report.model = "two_layer";
  report.entry = "train";
  report.layout.mesh = Mesh({{"rows", rows}, {"cols", 2}});
  report.layout.rules = {{dim, {0}, {}}, {"hidden", {1, 0}, {}}};
  report.arithmetic.einsum_per_device = 327270400;
  report.communication.total = {3, 1000, bytes};
  report.communication.by_axis["rows+cols"] = {3, 1000, bytes};
  report.memory.peak = 5 << 20;
  report.memory.peak_step = "block_1/h";
  report.memory_over_steps = {{1}, {2}, {3}, {0}, {0}};
  report.steps = {{"block_0/attention/scores", "einsum", "", Phase::kForward, {}, {300, 600, 0, 0}, {}, 0},
                  {"block_0/a_name_that_is_too_long_for_a_line/h",
                   "all_reduce",
                   "",
                   Phase::kBackward,
                   {0, 1},
                   {0, 0, 30, bytes},
                   {},
                   0},
                  {"x", "add", "", Phase::kForward, {}, {10, 0, 0, 0}, {}, 0}};
  report.alive_at_peak = {{"w", "variable", 4096, 0, 3}, {"h", "activation", 1024, 1, 2}};
  ComparedLayout made{"two_layer", report.layout, {}, {}, {}};
  made.report = std::move(report);
  return made;
}

ComparedLayout impossible() {
  ComparedLayout made = example(2, 0, "io");
  made.report.reset();
  made.reason =
      "the rules io:rows and batch:rows split tensor 'x', an input, twice over the same axis 'rows'";
  return made;
}

size_t widest(const std::string& text) {
  std::istringstream lines(text);
  size_t most = 0;
  for (std::string line; std::getline(lines, line);) most = std::max(most, line.size());
  return most;
}

}  // namespace

TEST_CASE("one layout: totals, costliest steps, tensors alive at the peak") {
  const std::string text = report_table({example(2, 8000)}, {});
  CHECK(text.starts_with("two_layer, train\nmesh   rows:2,cols:2\nlayout batch:rows,hidden:cols+rows\n\n"));
  CHECK_FALSE(has(text, "[1]"));
  CHECK(has(text, "327 MFLOP"));
  CHECK(has(text, "5.00 MiB"));
  CHECK(has(text, "  over rows+cols"));
  // The step with all of the bytes ranks before one with a part of the arithmetic.
  CHECK(text.find("all_reduce  backward") < text.find("block_0/attention/scores"));
  CHECK(has(
      text,
      "\ntensors alive at the peak, in block_1/h\n  w  variable    4.00 KiB\n  h  activation  1.00 KiB\n"));
  const std::string one = report_table({example(2, 8000)}, {80, 1});
  CHECK(has(one, "costliest steps, 1 of 3\n"));
  CHECK(has(one, "  1 more            1.00 KiB\n"));
  CHECK_FALSE(has(one, "scores"));
  for (const size_t width : {60, 80, 120})
    CHECK(widest(report_table({example(2, 8000)}, {width, 10})) <= width);
}

TEST_CASE("the steps of repeated blocks are one row with a count and the sums of their figures") {
  ComparedLayout layout = example(2, 8000);
  StepCost scores = layout.report->steps.front();
  scores.name = "block_1/attention/scores";
  layout.report->steps.push_back(scores);
  const std::string text = report_table({layout}, {});
  CHECK(has(text,
            "\ncostliest steps, 3 of 3; figures are sums over all steps that a row counts\n"
            "  step                              kind        count  FLOP      sent       over\n"
            "  block_0/a_name..ong_for_a_line/h  all_reduce      1        7.81 KiB  rows+cols\n"
            "  block_{0,1}/attention/scores      einsum          2   600\n"
            "  x                                 add             1    10\n"));
  for (const size_t width : {60, 80, 120}) CHECK(widest(report_table({layout}, {width, 10})) <= width);
}

TEST_CASE("several layouts: the best first, what is not possible last and why") {
  const std::string text = report_table({example(4, 8000), impossible(), example(2, 100)}, {});
  CHECK(text.starts_with("two_layer, train: 3 layouts, ordered by bytes sent\n"));
  CHECK(has(text, "best [3] rows:2,cols:2 batch:rows,hidden:cols+rows\n"));
  CHECK(text.find("[3]") < text.find("[1]"));
  CHECK(text.find("[1]") < text.find("[2] "));
  CHECK(has(text, "not possible: the rules io:rows and batch:rows"));
  CHECK(widest(text) <= 80);
  // Properties that all layouts share are printed once.
  const std::string sweep = report_table({example(4, 8000), example(2, 100)}, {});
  CHECK(has(sweep, "\nlayout batch:rows,hidden:cols+rows\n"));
  CHECK(has(sweep, "best [2] rows:2,cols:2     100 B  5.00 MiB  327 MFLOP\n"));
  const std::vector<ComparedLayout> many(30, example(2, 100));
  CHECK_FALSE(has(report_table(many, {}), "einsum, useful"));
  CHECK(has(report_table(many, {}), "\nmore than 6 layouts: their totals are in the output of --format csv"));
}

TEST_CASE("layouts that do not fit into a device are said so, and none of them is called the best") {
  const auto on_device = [](int64_t rows, int64_t device) {
    ComparedLayout made = example(rows, 100);
    made.report->device_memory = device;
    return made;
  };
  CHECK(has(report_table({on_device(2, 8 << 20)}, {}), " fits, 5.00 of 8 MiB\n"));
  CHECK(has(report_table({on_device(2, 4 << 20)}, {}), "1.00 MiB more than 4 MiB\n"));
  ComparedLayout small = on_device(4, 4 << 20);
  small.report->memory.peak = 1000;
  const std::string one_fits = report_table({on_device(2, 4 << 20), small}, {});
  CHECK(has(one_fits, "sent    memory  fits     einsum\n"));
  CHECK(has(one_fits, "best [2] rows:4,cols:2  100 B    1000 B   yes  327 MFLOP\n"));
  CHECK(has(one_fits, "     [1] rows:2,cols:2  100 B  5.00 MiB    no  327 MFLOP\n"));
  CHECK(has(one_fits, "\n1 layout does not fit into the 4 MiB that a device may use\n"));
  const std::string none = report_table({on_device(2, 4 << 20), on_device(4, 4 << 20)}, {});
  CHECK_FALSE(has(none, "best"));
  CHECK(none.starts_with("two_layer, train: 2 layouts, ordered by memory\n"));
  CHECK(has(none, "\nno layout fits into the 4 MiB that a device may use; the smallest needs "));
  CHECK(widest(none) <= 80);
}

TEST_CASE("what does not fit is red, if there are colours") {
  ComparedLayout large = example(2, 100), small = example(4, 100);
  large.report->device_memory = small.report->device_memory = 4 << 20;
  small.report->memory.peak = 1000;
  TableOptions colored;
  colored.color = true;
  const std::string red = "\033[1;31m", plain = "\033[0m\n";
  const std::string text = report_table({large, small}, colored);
  CHECK(has(text, red + "     [1] rows:2,cols:2  100 B  5.00 MiB    no  327 MFLOP" + plain));
  CHECK(has(text, red + "1 layout does not fit into the 4 MiB that a device may use" + plain));
  CHECK_FALSE(has(text, red + "best"));
  CHECK(has(report_table({large}, colored), red + "  of a device's memory"));
  CHECK_FALSE(has(report_table({small}, colored), red));
  CHECK_FALSE(has(report_table({large, small}, {}), red));
}

TEST_CASE("with many layouts, their lines have the figures of training") {
  ComparedLayout one = example(2, 100);
  one.report->time.emplace().hardware = "h";
  one.report->time->step_s = 0.5;
  one.report->time->efficiency = 0.456;
  one.report->training = TrainingCost{1000, 2000, 20e9, 20e6, 1e7, 5e3, 12345.0};
  const std::vector<ComparedLayout> many(7, one);
  const std::string text = report_table(many, {});
  CHECK(has(text, "  step     MFU  tokens/s      time   price    memory\n"));
  CHECK(has(text, "500 ms  45.6 %     2,000  116 days  12,345  5.00 MiB\n"));
  TableOptions without;
  without.totals = false;
  CHECK(has(report_table({one, one}, without), "500 ms  45.6 %     2,000  116 days  12,345  5.00 MiB\n"));
}

TEST_CASE("the totals of layouts that do not fit side by side follow below") {
  const std::vector<ComparedLayout> six(6, example(2, 100));
  for (const size_t width : {40, 60, 80, 200}) {
    const std::string text = report_table(six, {width, 10});
    CAPTURE(text);
    CHECK(widest(text) <= width);
    std::istringstream lines(text.substr(text.find("\n\n", text.find("best"))));
    std::string heads;
    for (std::string line; std::getline(lines, line);)
      if (line.find('[') != std::string::npos) heads += line;
    for (const char* number : {"[1]", "[2]", "[3]", "[4]", "[5]", "[6]"}) CHECK(has(heads, number));
  }
}

TEST_CASE("CSV: a line per layout, or per step") {
  const std::vector<ComparedLayout> layouts = {example(4, 8000), impossible(), example(2, 100)};
  std::istringstream lines(report_csv(layouts, std::nullopt));
  std::string head, first, second, third, none;
  std::getline(lines, head);
  CHECK(head.starts_with("number,model,mesh,layout,devices,entry,rank,step_s,"));
  CHECK(head.ends_with(
      ",alignment_and_gaps_bytes,tokens_per_step,tokens_per_second,training_steps,training_seconds,"
      "training_device_hours,training_price,not_possible"));
  std::getline(lines, first);
  CHECK(first.starts_with(R"(1,two_layer,"rows:4,cols:2","batch:rows,hidden:cols+rows",8,train,2,,,,,,,0,)"));
  std::getline(lines, second);
  CHECK(second.starts_with(R"(2,two_layer,"rows:2,cols:2","io:rows,hidden:cols+rows",4,,,)"));
  CHECK(second.ends_with(
      R"(,"the rules io:rows and batch:rows split tensor 'x', an input, twice over the same axis 'rows'")"));
  std::getline(lines, third);
  CHECK(third.starts_with(R"(3,two_layer,"rows:2,cols:2","batch:rows,hidden:cols+rows",4,train,1,)"));
  CHECK_FALSE(std::getline(lines, none));
  const std::string steps = report_csv({example(4, 8000)}, 2);
  CHECK(std::count(steps.begin(), steps.end(), '\n') == 3);
  CHECK(has(steps, ",scores") == false);
  CHECK(has(steps, "block_0/attention/scores,einsum,,forward,,1,300,0,0,6,,\n"));
}

// A program may come from anybody, so nothing in it may act on the terminal or the spreadsheet of its reader.
TEST_CASE("names from a file are shown, not obeyed") {
  ComparedLayout layout = example(2, 8000);
  CostReport& report = *layout.report;
  layout.model = report.model = "=cmd()\x1b[2J\nbest";
  report.memory.peak_step =
      "\xC2\x9B"
      "31m";
  report.alive_at_peak[0].name = "w\xE2\x80\xAE";
  report.steps[2].name = "@x;y";
  report.time.emplace();
  report.time->hardware =
      "+\x07"
      "fast";
  report.steps[0].count.flops = 1;
  const std::string one = report_table({layout}, {});
  CHECK(one.starts_with("=cmd()\\x1b[2J\\nbest, train\n"));
  CHECK(has(one, "at the peak, in \\u009b31m\n"));
  CHECK(has(one, "  w\\u202e  variable"));
  CHECK(has(one, "+\\x07fast\n"));
  const std::string two = report_table({layout, layout}, {});
  CHECK(two.starts_with("=cmd()\\x1b[2J\\nbest, train: 2 layouts, ordered by step time on +\\x07fast\n"));
  const std::string csv = report_csv({layout}, std::nullopt);
  CHECK(has(csv, "\n1,'=cmd()\\x1b[2J\\nbest,\"rows:2,cols:2\","));
  CHECK(has(csv, ",'+\\x07fast,"));
  CHECK(has(report_csv({layout}, 3), ",\"'@x;y\",add,"));
  const std::string page = report_html({layout}, {});
  CHECK(has(page, "=cmd()\\x1b[2J\\nbest"));
  // JSON has escapes of its own.
  CHECK(has(report_json({report}), "\"model\": \"=cmd()\\u001b[2J\\nbest\""));
  for (const std::string& text : {one, two, csv, page})
    for (const char c : text) REQUIRE((c == '\n' || static_cast<unsigned char>(c) >= 0x20));
}

}  // namespace mtfc::report_table_test
