// A report that knows the memory of a device shows all bytes in its units, so that figures can be compared.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>
#include <vector>

#include "core/diagnostics/error.h"
#include "core/testing/text.h"
#include "formats/report/difference_writer.h"
#include "formats/report/fit_writer.h"
#include "formats/report/pareto_picture.h"
#include "formats/report/report_writer.h"
#include "formats/report/waste_writer.h"

namespace mtfc::byte_units_test {

namespace {

// Every figure in bytes is 3,000,000,000 or more: 3.00 GB, or 2.79 GiB.
constexpr int64_t kBytes = 3'000'000'000;

ComparedLayout example(int64_t device_memory, double step_s) {
  ComparedLayout made;
  made.model = "m";
  made.layout.mesh = Mesh({{"all", 4}});
  CostReport& report = made.report.emplace();
  report.model = made.model;
  report.entry = "train";
  report.layout = made.layout;
  report.device_memory = device_memory;
  report.parameters.bytes_per_device = kBytes;
  report.communication.total = {1, 1000, kBytes};
  report.communication.by_kind["all_reduce"] = report.communication.by_axis["all"] = {1, 1000, kBytes};
  report.communication.between_nodes = NodeTotals{{kBytes, kBytes}};
  MemoryCost& memory = report.memory;
  memory.peak = 27 * kBytes;
  memory.groups = {{"experts", {kBytes, kBytes}}};
  for (int64_t* part : {&memory.variables, &memory.optimizer_state, &memory.inputs, &memory.gradients,
                        &memory.activations_at_peak, &memory.workspace, &memory.gaps, &memory.caches,
                        &memory.variable_copies})
    *part = kBytes;
  report.memory_over_steps = {{kBytes}, {kBytes}, {kBytes}, {kBytes}, {kBytes}, 0};
  report.alive_at_peak = {{"w", "variable", kBytes, 0, 3}, {"h", "activation", kBytes, 1, 2}};
  report.steps = {{"w/grad", "all_reduce", "", Phase::kBackward, {0}, {0, 0, 30, kBytes}, {}, 0}};
  TimeCost& time = report.time.emplace();
  time.step_s = step_s;
  time.hardware = "h";
  ReshardStep& reshard = made.reshards.emplace_back();
  reshard.step = StepIndex(0);
  reshard.tensor = "w/grad";
  reshard.collective = {CollectiveKind::kAllReduce, {0}};
  reshard.bytes = kBytes;
  return made;
}

std::string fit_text_of(int64_t limit) {
  FitResult result;
  FitTrial trial;
  trial.memory = kBytes;
  result.fits = {trial};
  trial.memory = 27 * kBytes;
  result.smallest = {trial};
  return fit_table({result, "m", "h", limit, 1}, {});
}

// All that is said of layouts with such a device.
std::string reports_of(int64_t memory) {
  const ComparedLayout one = example(memory, 1), two = example(memory, 2), three = example(memory, 3);
  PageOptions page;
  Hardware& hardware = page.origin.hardware.emplace();
  hardware.name = "h";
  hardware.memory_bytes = static_cast<double>(memory);
  hardware.memory_bandwidth = 2e12;
  hardware.axes["*"].bytes_per_s = 1e11;
  TableOptions narrow;
  narrow.top = 1;
  ProgramDifference difference{*one.report, *two.report, {}, {}};
  difference.collectives.push_back({"all_reduce", "all", {"w"}, "[w]", {1, kBytes}, {2, 3 * kBytes}});
  difference.collectives.push_back({"all_reduce", "all", {"v"}, "[v]", {2, 2 * kBytes}, {0, 0}});
  std::string text = report_table({one}, {}) + report_table({one}, narrow) + report_table({one, two}, {}) +
                     report_html({one}, page) + report_html({one, two, three}, page) +
                     pareto_picture({one, two, three}, 80) + difference_text(difference, 80, 10) +
                     fit_text_of(memory);
  Waste waste;
  waste.state = {0, kBytes, kBytes};
  for (const Diagnostic& warning : warnings_of(waste, one.layout.mesh, memory)) text += to_string(warning);
  return text;
}

}  // namespace

TEST_CASE("all bytes of a report are in the units in which the memory of a device is called") {
  const std::string decimal = reports_of(78'000'000'000), binary = reports_of(int64_t{78} << 30);
  for (const char* unit : {" KiB", " MiB", " GiB", " TiB"}) CHECK_FALSE(has(decimal, unit));
  for (const char* unit : {" kB", " MB", " GB", " TB"}) CHECK_FALSE(has(binary, unit));
  // 81 GB do not fit into 78 GB, and are no smaller number than these anywhere.
  CHECK(has(decimal, "81.0 GB"));
  CHECK(has(decimal, "3.00 GB more than 78 GB"));
  CHECK(has(binary, "75.4 GiB"));
  CHECK(has(binary, "fits, 75.4 of 78 GiB"));
}

TEST_CASE("without the memory of a device, bytes are in powers of 1024") {
  CHECK(has(report_table({example(0, 1)}, {}), " 75.4 GiB\n"));
  CHECK_FALSE(has(report_table({example(0, 1)}, {}), " GB"));
}

}  // namespace mtfc::byte_units_test
