#include "formats/report/pareto_picture.h"

#include <doctest/doctest.h>

#include <sstream>

#include "core/testing/text.h"

namespace mtfc::pareto_picture_test {

namespace {

constexpr int64_t kMiB = 1 << 20;

ComparedLayout layout(double step_s, int64_t memory) {
  CostReport report;
  report.time.emplace().step_s = step_s;
  report.memory.peak = memory;
  ComparedLayout made;
  made.report = std::move(report);
  return made;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

size_t occurrences(const std::string& text, const std::string& of) {
  size_t count = 0;
  for (size_t at = text.find(of); at != std::string::npos; at = text.find(of, at + 1)) ++count;
  return count;
}

}  // namespace

TEST_CASE("marks stand at the time of their step, to the right, and at their memory, upwards") {
  CHECK(pareto_picture({layout(1e-3, 8 * kMiB), layout(2e-3, 2 * kMiB), layout(3e-3, kMiB)}, 60) ==
        "\n"
        "time of a step (to the right) and memory per device\n"
        "(upwards)\n"
        "\n"
        "         |\n"
        "8.00 MiB +  [1]\n"
        "         |\n"
        "6.00 MiB +\n"
        "         |\n"
        "         |\n"
        "4.00 MiB +\n"
        "         |\n"
        "         |\n"
        "2.00 MiB +                        [2]\n"
        "         |                                             [3]\n"
        "         |\n"
        "         +---+---------------------+--------------------+---\n"
        "          1.00 ms               2.00 ms              3.00 ms\n");
}

TEST_CASE("in a narrow terminal the drawing keeps to the width, and labels do not touch") {
  const std::vector<ComparedLayout> layouts = {layout(101e-3, 800 * kMiB), layout(103e-3, 400 * kMiB)};
  const std::vector<std::string> lines = lines_of(pareto_picture(layouts, 40));
  REQUIRE(lines.size() > 14);
  for (const std::string& line : lines) CHECK(line.size() <= 40);
  CHECK(lines.back().find("ms") != std::string::npos);
  CHECK(lines.back().find("ms1") == std::string::npos);
  size_t first = 0, second = 0;  // the lines of the marks
  for (size_t i = 0; i < lines.size(); ++i) {
    if (has(lines[i], "[1]")) first = i;
    if (has(lines[i], "[2]")) second = i;
  }
  CHECK(first > 0);
  CHECK(second > first);
  CHECK(lines[first].find("[1]") < lines[second].find("[2]"));
}

TEST_CASE("bytes are round in the base of the memory of a device") {
  std::vector<ComparedLayout> layouts = {layout(1e-3, 8 * kMiB), layout(2e-3, 2 * kMiB)};
  CHECK(has(pareto_picture(layouts, 60), "\n8.00 MiB +  [1]"));
  for (ComparedLayout& each : layouts) each.report->device_memory = 16'000'000;
  const std::string text = pareto_picture(layouts, 60);
  CAPTURE(text);
  for (const char* label : {"\n8.00 MB +  [1]", "\n6.00 MB +", "\n4.00 MB +", "\n2.00 MB +"})
    CHECK(has(text, label));
}

TEST_CASE("layouts at the same place share a mark") {
  const std::vector<ComparedLayout> equal(2, layout(1e-3, kMiB));
  CHECK(has(pareto_picture(equal, 60), "[1,2]"));
  const std::vector<ComparedLayout> five(5, layout(1e-3, kMiB));
  CHECK(has(pareto_picture(five, 60), "[1,2,3..]"));
}

TEST_CASE("a mark that another one would cover stands beside it") {
  std::vector<ComparedLayout> layouts = {layout(1e-3, kMiB), layout(9e-3, 9 * kMiB)};
  for (const double step_s : {5.0e-3, 5.2e-3, 5.4e-3, 5.6e-3}) layouts.push_back(layout(step_s, 5 * kMiB));
  const std::string text = pareto_picture(layouts, 60);
  CAPTURE(text);
  for (const char* mark : {"[1]", "[2]", "[3]", "[4]", "[5]", "[6]"}) CHECK(occurrences(text, mark) == 1);
  CHECK(!has(text, "no room"));
}

TEST_CASE("marks for which there is no room are counted") {
  std::vector<ComparedLayout> layouts;
  for (int i = 0; i < 400; ++i) layouts.push_back(layout((1 + i) * 1e-3, (400 - i) * kMiB));
  for (int i = 0; i < 400; ++i) layouts.push_back(layout((1 + i) * 1e-3, (1 + i) * kMiB));
  const std::string text = pareto_picture(layouts, 40);
  CHECK(has(text, " more have no room in the drawing\n"));
  for (const std::string& line : lines_of(text)) CHECK(line.size() <= 40);
}

TEST_CASE("there is no drawing of one layout, nor of layouts without times") {
  CHECK(pareto_picture({layout(1e-3, kMiB)}, 80).empty());
  CHECK(pareto_picture({}, 80).empty());
  std::vector<ComparedLayout> untimed = {layout(1e-3, kMiB), layout(2e-3, kMiB)};
  CHECK(!pareto_picture(untimed, 80).empty());
  for (ComparedLayout& one : untimed) one.report->time.reset();
  CHECK(pareto_picture(untimed, 80).empty());
  CHECK(pareto_picture({layout(0, kMiB), layout(0, kMiB)}, 80).empty());
}

}  // namespace mtfc::pareto_picture_test
