#include "core/cost/device_order.h"

#include <doctest/doctest.h>

#include "core/testing/steps_by_hand.h"

namespace mtfc::device_order_test {

namespace {

// A program that sums over rows, the major axis of rows:2,cols:4.
Program sums_over_rows() {
  Program program;
  program.layout.mesh = Mesh({{"rows", 2}, {"cols", 4}});
  EntryPoint entry;
  entry.name = "train";
  Value value;
  value.type.dims = {{"n", 1 << 20}};
  value.sharding = replicated(1);
  entry.values = {value, value};
  const Step start = start_step({CollectiveKind::kAllReduce, {0}}, 0, 1);
  entry.steps = {start, wait_step(start, 0)};
  program.entry_points = {entry};
  return program;
}

Hardware nodes_of_two() {
  Hardware hardware;
  hardware.name = "nodes";
  hardware.flops["f32"] = 1e12;
  hardware.memory_bandwidth = 1e11;
  Link slow, fast;
  slow.latency_s = 1e-5;
  slow.bytes_per_s = 1e9;
  fast.latency_s = 1e-6;
  fast.bytes_per_s = 1e10;
  hardware.axes["*"] = slow;
  hardware.inside = fast;
  hardware.topology = Topology::kTwoLevel;
  hardware.devices_per_node = 2;
  return hardware;
}

}  // namespace

TEST_CASE("the axis that sends most goes inside the node") {
  const Program program = sums_over_rows();
  const EntryPoint& entry = program.entry_points[0];
  const std::vector<StepCount> counts = predicted_counts(program, entry);
  const auto proposed = propose_device_order(program, entry, counts, nodes_of_two());
  REQUIRE(proposed.has_value());
  CHECK(proposed->axes == std::vector<std::string>{"cols", "rows"});
  CHECK(proposed->device_order == std::vector<int64_t>{0, 2, 4, 6, 1, 3, 5, 7});
  CHECK(proposed->step_s < 0.2 * predicted_time(program, entry, counts, nodes_of_two()).step_s);
}

TEST_CASE("no order is proposed where none is better, or asked for") {
  Program program = sums_over_rows();
  program.layout.mesh = Mesh({{"cols", 4}, {"rows", 2}});
  const Step start = start_step({CollectiveKind::kAllReduce, {1}}, 0, 1);
  program.entry_points[0].steps = {start, wait_step(start, 0)};
  const EntryPoint& entry = program.entry_points[0];
  const std::vector<StepCount> counts = predicted_counts(program, entry);
  CHECK_FALSE(propose_device_order(program, entry, counts, nodes_of_two()).has_value());
  Hardware flat = nodes_of_two();
  flat.topology = Topology::kFullyConnected;
  const Program rows = sums_over_rows();
  CHECK_FALSE(propose_device_order(rows, rows.entry_points[0], counts, flat).has_value());
}

}  // namespace mtfc::device_order_test
