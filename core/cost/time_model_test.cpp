#include "core/cost/time_model.h"

#include <doctest/doctest.h>

#include <cmath>

#include "core/cost/collective_time.h"
#include "core/cost/cost.h"
#include "core/cost/kernel_time.h"
#include "core/graph/op_registry.h"
#include "core/testing/steps_by_hand.h"

namespace mtfc::time_model_test {

namespace {

constexpr double kAlpha = 1e-3, kBandwidth = 1e6;

Hardware hardware(Topology topology = Topology::kFullyConnected) {
  Hardware made;
  made.name = "toy";
  made.flops = {{"f32", 1e9}};
  made.memory_bandwidth = 1e9;
  made.memory_bytes = 1e9;
  made.axes["*"].latency_s = kAlpha;
  made.axes["*"].bytes_per_s = kBandwidth;
  made.topology = topology;
  return made;
}

// Nodes of so many devices, with a link inside that is 100 times as fast.
Hardware nodes_of(int64_t devices) {
  Hardware nodes = hardware(Topology::kTwoLevel);
  nodes.devices_per_node = devices;
  nodes.inside = nodes.axes["*"];
  nodes.inside->latency_s = 0;
  nodes.inside->bytes_per_s = 100 * kBandwidth;
  return nodes;
}

// The time that a group over `axes` of the mesh 2x4 takes to move `bytes`.
double seconds(CollectiveKind kind, const AxisList& axes, double bytes, const Hardware& on) {
  return collective_time(kind, axes, Mesh({{"rows", 2}, {"cols", 4}}), bytes, on).seconds();
}

// A program made by hand: 250,000 sums on one device of two, during the all_reduce of a matrix that another
// step made, and a loop of `rounds` over both.
struct ByHand {
  Program program;
  EntryPoint entry;
  std::vector<StepCount> counts;

  explicit ByHand(int64_t rounds) {
    program.layout.mesh = Mesh({{"p", 2}});
    const TensorType matrix{DType::kF32, {{"n", 250'000}}};
    for (int i = 0; i < 3; ++i) {
      entry.values.push_back({"v", matrix, replicated(1), BufferId(i)});
      entry.buffers.push_back({BufferKind::kActivation, bytes(matrix), 0, 0, 0});
    }
    const Step start = start_step({CollectiveKind::kAllReduce, {0}}, 0, 1);
    Step loop, slice, repeat;
    loop.action = BeginLoop{StepIndex(4), rounds};
    slice.action = KeepSlice{};
    slice.inputs = value_ids({0});
    slice.outputs = value_ids({2});
    repeat.action = RepeatLoop{StepIndex(0)};
    entry.steps = {loop, start, slice, wait_step(start, 1), repeat};
    counts.resize(entry.steps.size());
    counts[1].bytes_sent = 1'000'000 * rounds;
  }
  TimeCost time(const Hardware& on) const { return predicted_time(program, entry, counts, on); }
};

}  // namespace

TEST_CASE("collectives over one axis: alpha by messages, bytes by bandwidth") {
  const Hardware flat = hardware();
  CHECK(seconds(CollectiveKind::kAllReduce, {1}, 1e6, flat) == doctest::Approx(2 * 3 * kAlpha + 1));
  CHECK(seconds(CollectiveKind::kAllGather, {1}, 1e6, flat) == doctest::Approx(3 * kAlpha + 1));
  CHECK(seconds(CollectiveKind::kReduceScatter, {0}, 2e6, flat) == doctest::Approx(kAlpha + 2));
  CHECK(seconds(CollectiveKind::kAllToAll, {1}, 1e6, flat) == doctest::Approx(3 * kAlpha + 1));
  CHECK(seconds(CollectiveKind::kAllReduce, {0, 1}, 1e6, flat) == doctest::Approx(2 * 4 * kAlpha + 1));
}

TEST_CASE("topologies lengthen what does not go to neighbours") {
  const Mesh mesh({{"rows", 2}, {"cols", 32}});
  const auto on = [&](CollectiveKind kind, const AxisList& axes, Topology topology) {
    return collective_time(kind, axes, mesh, 1e6, hardware(topology)).transfer_s;
  };
  CHECK(on(CollectiveKind::kAllReduce, {1}, Topology::kTorus) == doctest::Approx(1));
  CHECK(on(CollectiveKind::kAllToAll, {1}, Topology::kTorus) == doctest::Approx(8));
  CHECK(on(CollectiveKind::kAllToAll, {0}, Topology::kTorus) == doctest::Approx(1));
  CHECK(on(CollectiveKind::kAllReduce, {0}, Topology::kTorus) == doctest::Approx(1));
  CHECK(on(CollectiveKind::kAllReduce, {0}, Topology::kRing) == doctest::Approx(32));
  CHECK(on(CollectiveKind::kAllReduce, {1}, Topology::kRing) == doctest::Approx(1));
}

TEST_CASE("a group within a node uses its link, a group across nodes both") {
  const Hardware nodes = nodes_of(4);
  const Mesh mesh({{"rows", 2}, {"cols", 4}});
  CHECK(lies_in_a_node({1}, mesh, 4));
  CHECK_FALSE(lies_in_a_node({0}, mesh, 4));
  CHECK_FALSE(lies_in_a_node({0, 1}, mesh, 4));
  CHECK(lies_in_a_node({0, 1}, mesh, 8));
  CHECK(seconds(CollectiveKind::kAllGather, {1}, 1e6, nodes) == doctest::Approx(0.01));
  CHECK(seconds(CollectiveKind::kAllGather, {0}, 1e6, nodes) == doctest::Approx(kAlpha + 1));
  // A megabyte over eight devices: 1.75 MB are sent on one level; on two, 1.5 MB inside and 0.25 MB across.
  CHECK(seconds(CollectiveKind::kAllReduce, {0, 1}, 1.75e6, nodes) ==
        doctest::Approx(0.015 + 2 * kAlpha + 0.25));
  // Parts of 0.25 MB: one goes to the other node, and six come from neighbours.
  CHECK(seconds(CollectiveKind::kAllGather, {0, 1}, 1.75e6, nodes) == doctest::Approx(0.015 + kAlpha + 0.25));
  CHECK(seconds(CollectiveKind::kReduceScatter, {0, 1}, 1.75e6, nodes) ==
        doctest::Approx(0.015 + kAlpha + 0.25));
  // Four of the seven parts that a device sends go to the other node.
  CHECK(seconds(CollectiveKind::kAllToAll, {0, 1}, 1.75e6, nodes) ==
        doctest::Approx(0.0075 + 7 * kAlpha + 1));
  CHECK(seconds(CollectiveKind::kPermute, {0, 1}, 1e6, nodes) == doctest::Approx(kAlpha + 1));
}

TEST_CASE("a node that is filled in part takes part in an all_reduce across nodes") {
  Hardware nodes = hardware(Topology::kTwoLevel);
  nodes.devices_per_node = 8;
  nodes.inside = nodes.axes["*"];
  nodes.inside->latency_s = 0;
  const Mesh mesh({{"all", 12}});
  const CollectiveTime time = collective_time(CollectiveKind::kAllReduce, {0}, mesh, 1e6, nodes);
  CHECK(time.latency_s == doctest::Approx(2 * kAlpha));
}

TEST_CASE("a member that is alone on its node exchanges what three others share") {
  const Hardware nodes = nodes_of(3);
  const auto taken = [&](CollectiveKind kind, double bytes) {
    return collective_time(kind, {0}, Mesh({{"all", 4}}), bytes, nodes).seconds();
  };
  // A megabyte: one member of the larger node reduces all of it there and gives it to two neighbours, and it crosses
  // once.
  CHECK(taken(CollectiveKind::kAllReduce, 1.5e6) == doctest::Approx(0.04 + 2 * kAlpha + 1));
  // Parts of 0.25 MB: the member that is alone needs three, and two of the others get theirs from neighbours.
  CHECK(taken(CollectiveKind::kAllGather, 0.75e6) == doctest::Approx(0.0075 + kAlpha + 0.75));
  CHECK(taken(CollectiveKind::kAllToAll, 0.75e6) == doctest::Approx(3 * kAlpha + 0.75));
}

TEST_CASE("copies within a node take the device's own time if the link inside does not overlap") {
  Hardware nodes = nodes_of(4);
  nodes.inside->overlaps = false;
  const CollectiveTime time =
      collective_time(CollectiveKind::kAllGather, {0, 1}, Mesh({{"rows", 2}, {"cols", 4}}), 1.75e6, nodes);
  CHECK(time.overlaps);
  CHECK(time.own_s == doctest::Approx(0.015));
  CHECK(time.seconds() == doctest::Approx(0.015 + kAlpha + 0.25));
}

TEST_CASE("kinds of collectives, and groups, that a profile lists apart") {
  Hardware apart = hardware();
  apart.axes["*"].collectives["all_to_all"] = {0, 2 * kBandwidth};
  apart.axes["rows+cols"].latency_s = 0;
  apart.axes["rows+cols"].bytes_per_s = 4 * kBandwidth;
  CHECK(seconds(CollectiveKind::kAllToAll, {1}, 1e6, apart) == doctest::Approx(0.5));
  CHECK(seconds(CollectiveKind::kAllGather, {1}, 1e6, apart) == doctest::Approx(3 * kAlpha + 1));
  CHECK(seconds(CollectiveKind::kAllGather, {0, 1}, 1e6, apart) == doctest::Approx(0.25));
}

TEST_CASE("kernels run beside a collective, unless its link does not overlap") {
  const ByHand once(1);
  Hardware on = hardware();
  const double kernel = 2e6 / 1e9, collective = 2 * kAlpha + 1;
  TimeCost time = once.time(on);
  CHECK(time.compute_s == doctest::Approx(kernel));
  CHECK(time.communication_s == doctest::Approx(collective));
  CHECK(time.step_s == doctest::Approx(collective));
  CHECK(time.roofline_s == doctest::Approx(1));
  CHECK(time.steps[1].bound == "network");
  CHECK(time.steps[2].bound == "memory");
  CHECK(time.steps[3].seconds == doctest::Approx(collective - kernel));
  on.axes["*"].overlaps = false;
  time = once.time(on);
  CHECK(time.step_s == doctest::Approx(kernel + collective));
  CHECK(time.steps[1].begin_s == doctest::Approx(kernel));
  on.step_overhead_s = 1;
  CHECK(once.time(on).step_s == doctest::Approx(1 + kernel + collective));
  CHECK(once.time(on).steps[2].bound == "overhead");
}

TEST_CASE("bytes that are written, far away, or beside arithmetic") {
  const TensorType matrix{DType::kF32, {{"n", 250'000}}};
  EntryPoint entry;
  for (int i = 0; i < 2; ++i) {
    entry.values.push_back({"v", matrix, replicated(1), BufferId(i)});
    entry.buffers.push_back({BufferKind::kActivation, bytes(matrix), i * bytes(matrix), 0, 0});
  }
  const Step step = kernel_step("neg", {0}, 1);
  entry.steps = {step};
  const auto seconds = [&](const Hardware& on) {
    return kernel_time(entry, step, memory_traffic(entry, Mesh())[0], Mesh(), on).seconds();
  };
  Hardware on = hardware();
  CHECK(seconds(on) == doctest::Approx(2e6 / 1e9));
  on.write_bandwidth = 1e8;
  CHECK(seconds(on) == doctest::Approx(1e6 / 1e9 + 1e6 / 1e8));
  on.write_bandwidth.reset();
  on.memory_bandwidth = Curve({{1e6, 1e10}, {2e6, 1e8}});
  CHECK(seconds(on) == doctest::Approx(2e6 / 1e8));
  on.overlap = 0;
  CHECK(seconds(on) == doctest::Approx(2e6 / 1e8 + 250'000 / 1e9));
  on.overlap = 0.5;
  CHECK(seconds(on) == doctest::Approx(2e6 / 1e8 + 125'000 / 1e9));
}

TEST_CASE("convolutions run at the rate of the products that they consist of") {
  const Dim h = {"h", 10}, taps = {"taps", 3}, to = {"to", 5}, b = {"b", 4}, g = {"g", 2}, c = {"c", 8},
            o = {"o", 16};
  // A place meets one or two of the three taps, since every second element between those of h is not there.
  const Attributes attributes = {
      {"windows", Windows{{.dim = h, .taps = taps, .to = to, .stride = 4, .low = 1, .high = 1, .base = 2}}}};
  Hardware on = hardware();
  on.memory_bandwidth = 1e15;
  const auto seconds = [&](const Dims& x, const Dims& w, const Dims& result) {
    EntryPoint entry;
    for (const Dims& dims : {x, w, result}) {
      const TensorType type{DType::kF32, dims};
      const auto offset = static_cast<int64_t>(entry.buffers.size() * 1'000'000);
      const BufferId buffer = entry.buffers.add({BufferKind::kActivation, bytes(type), offset, 0, 0});
      entry.values.push_back({"v", type, replicated(dims.size()), buffer});
    }
    Step conv = kernel_step("conv", {0, 1}, 2);
    conv.as<RunKernel>()->attributes = attributes;
    entry.steps = {conv};
    return kernel_time(entry, conv, memory_traffic(entry, Mesh())[0], Mesh(), on).seconds();
  };
  const auto grouped = [&] { return seconds({b, h, g, c}, {taps, g, c, o}, {b, to, g, o}); };
  const auto plain = [&] { return seconds({b, h, c}, {taps, c, o}, {b, to, o}); };
  const double at_peak = 2 * (4 * 5) * 16 * (8 * 3) / 2 / 1e9;  // of a group
  CHECK(grouped() == doctest::Approx(2 * at_peak));
  on.tables["einsum"] = {{{1}, {1}, {1}}, {0.5}};
  CHECK(grouped() == doctest::Approx(2 * at_peak / 0.5));
  on.efficiency["batched_einsum"] = 0.4;
  CHECK(grouped() == doctest::Approx(2 * at_peak / 0.4));
  CHECK(plain() == doctest::Approx(at_peak / 0.5));
  on.efficiency["conv"] = Curve({{2 * 20 * 16 * 12, 0.25}, {1e9, 1}});
  CHECK(grouped() == doctest::Approx(2 * at_peak / 0.25));
  CHECK(plain() == doctest::Approx(at_peak / 0.25));
  on.tables["grouped_conv"] = {{{16, 20}, {16, 20}, {12, 24}}, {0.9, 0.9, 0.8, 0.8, 0.1, 0.2, 0.7, 0.7}};
  CHECK(grouped() == doctest::Approx(2 * at_peak / 0.1));
  CHECK(plain() == doctest::Approx(at_peak / 0.25));
}

TEST_CASE("products run at the rate of their shape, what only moves at its own pace") {
  EntryPoint entry;
  const auto add = [&](const TensorType& type) {
    const auto offset = static_cast<int64_t>(entry.buffers.size() * 1'000'000);
    const BufferId buffer = entry.buffers.add({BufferKind::kActivation, bytes(type), offset, 0, 0});
    entry.values.push_back({"v", type, replicated(type.dims.size()), buffer});
  };
  const Dim b = {"b", 2}, m = {"m", 100}, n = {"n", 10}, k = {"k", 50};
  add({DType::kF32, {b, m, k}});
  add({DType::kF32, {b, k, n}});
  add({DType::kF32, {b, m, n}});
  add({DType::kF32, {k, b, m}});
  Step product = kernel_step("einsum", {0, 1}, 2), transpose = kernel_step("transpose", {0}, 3);
  product.as<RunKernel>()->attributes = {{"dims", Dims{b, m, n}}};
  transpose.as<RunKernel>()->attributes = {{"dims", Dims{k, b, m}}};
  Hardware on = hardware();
  on.memory_bandwidth = 1e15;
  const auto seconds = [&](const Step& step) {
    entry.steps = {step};
    return kernel_time(entry, step, memory_traffic(entry, Mesh())[0], Mesh(), on).seconds();
  };
  CHECK(seconds(product) == doctest::Approx(2 * 2 * 100 * 10 * 50 / 1e9));
  on.tables["einsum"] = {{{1}, {1}, {1}}, {0.5}};
  CHECK(seconds(product) == doctest::Approx(2 * 2 * 100 * 10 * 50 / 1e9 / 0.5));
  on.tables["batched_einsum"] = {{{100, 200}, {10}, {25, 100}}, {0.1, 0.4, 1, 1}};
  CHECK(seconds(product) == doctest::Approx(2 * 2 * 100 * 10 * 50 / 1e9 / 0.2));
  CHECK(seconds(transpose) < 1e-9);
  on.efficiency["movement"] = 0.25;
  CHECK(seconds(transpose) == doctest::Approx(2 * 2 * 100 * 50 / 1e9 / 0.25));
}

TEST_CASE("a loop takes as long as its rounds") {
  for (const bool overlaps : {true, false}) {
    Hardware on = hardware();
    on.axes["*"].overlaps = overlaps;
    const TimeCost one = ByHand(1).time(on), seven = ByHand(7).time(on);
    CHECK(seven.step_s == doctest::Approx(7 * one.step_s));
    CHECK(seven.compute_s == doctest::Approx(7 * one.compute_s));
    CHECK(seven.communication_s == doctest::Approx(7 * one.communication_s));
    CHECK(seven.roofline_s == doctest::Approx(7 * one.roofline_s));
    CHECK(seven.steps[3].seconds == doctest::Approx(7 * one.steps[3].seconds));
    REQUIRE(seven.loops.size() == 1);
    const LoopTime& loop = seven.loops[0];
    CHECK(loop.begin_s == 0);
    CHECK(loop.rounds == 7);
    CHECK(loop.first_s == doctest::Approx(one.step_s));
    CHECK(loop.first_s + 6 * loop.round_s == doctest::Approx(seven.step_s));
  }
}

TEST_CASE("every collective has a fixed time, on each level that takes part") {
  Hardware flat = hardware();
  flat.axes["*"].fixed_s = 0.25;
  CHECK(seconds(CollectiveKind::kAllGather, {1}, 1e6, flat) == doctest::Approx(0.25 + 3 * kAlpha + 1));
  flat.axes["*"].collectives["all_reduce"] = {0, kBandwidth, 0.5};
  CHECK(seconds(CollectiveKind::kAllReduce, {1}, 1e6, flat) == doctest::Approx(0.5 + 1));
  Hardware nodes = nodes_of(4);
  nodes.axes["*"].fixed_s = 0.25;
  nodes.inside->fixed_s = 0.125;
  CHECK(seconds(CollectiveKind::kAllGather, {1}, 1e6, nodes) == doctest::Approx(0.125 + 0.01));
  CHECK(seconds(CollectiveKind::kAllReduce, {0, 1}, 1.75e6, nodes) ==
        doctest::Approx(0.375 + 0.015 + 2 * kAlpha + 0.25));
  flat.axes["*"].members_share = Curve({{2, 1}, {4, 0.5}});
  CHECK(seconds(CollectiveKind::kAllGather, {1}, 1e6, flat) == doctest::Approx(0.25 + 3 * kAlpha + 2));
  CHECK(seconds(CollectiveKind::kAllGather, {0}, 1e6, flat) == doctest::Approx(0.25 + kAlpha + 1));
  flat.axes["*"].members_share = 1;
  // A ring starts each of its transfers.
  const Mesh mesh({{"rows", 2}, {"cols", 4}});
  CHECK(ring_transfers({1}, mesh, 1e6, flat).seconds() == doctest::Approx(3 * 0.25 + 3 * kAlpha + 1));
  CHECK(ring_transfers({1}, mesh, 1e6, nodes).seconds() == doctest::Approx(3 * 0.125 + 0.01));
}

TEST_CASE("a program has a time of its own") {
  Hardware on = hardware();
  const double before = ByHand(3).time(on).step_s;
  on.program_overhead_s = 0.5;
  CHECK(ByHand(3).time(on).step_s == doctest::Approx(before + 0.5));
}

TEST_CASE("a processor issues kernels and collectives beside the device") {
  const double kernel = 2e6 / 1e9, collective = 2 * kAlpha + 1;
  Hardware on = hardware();
  on.issue_s = 0.01;
  TimeCost time = ByHand(1).time(on);
  CHECK(time.steps[1].begin_s == doctest::Approx(0.01));
  CHECK(time.steps[2].begin_s == doctest::Approx(0.02));
  CHECK(time.step_s == doctest::Approx(0.01 + collective));
  CHECK(time.compute_s == doctest::Approx(kernel));
  CHECK(ByHand(7).time(on).step_s == doctest::Approx(0.01 + 7 * collective));
  on.axes["*"].overlaps = false;
  CHECK(ByHand(7).time(on).step_s == doctest::Approx(0.02 + 7 * (kernel + collective)));
  // The processor is slower than both.
  for (const bool overlaps : {true, false}) {
    on.axes["*"].overlaps = overlaps;
    on.issue_s = 2;
    time = ByHand(7).time(on);
    CHECK(time.step_s == doctest::Approx(7 * 2 * 2 + kernel + (overlaps ? 0 : collective)));
    REQUIRE(time.loops.size() == 1);
    CHECK(time.loops[0].first_s + 6 * time.loops[0].round_s == doctest::Approx(time.step_s));
  }
}

namespace {

// Kernels that touch so many bytes: `before`, and then some in a loop, or as many of them without one.
double seconds_of_kernels(const std::vector<int64_t>& before, const std::vector<int64_t>& inside,
                          int64_t rounds, bool in_loop, const Hardware& on) {
  Program program;
  EntryPoint entry;
  const auto add = [&](int64_t touched) {
    const auto id = static_cast<int>(entry.values.size());
    const TensorType type{DType::kF32, {{"n", touched / 8}}};
    for (int i = 0; i < 2; ++i) {
      entry.values.push_back({"v", type, replicated(1), BufferId(id + i)});
      entry.buffers.push_back({BufferKind::kActivation, bytes(type), int64_t{id + i} * 100'000'000, 0, 0});
    }
    entry.steps.push_back(kernel_step("neg", {id}, id + 1));
  };
  for (const int64_t touched : before) add(touched);
  const auto begin = static_cast<int>(entry.steps.size());
  if (in_loop) entry.steps.emplace_back();
  for (int64_t round = 0; round < (in_loop ? 1 : rounds); ++round)
    for (const int64_t touched : inside) add(touched);
  if (in_loop) {
    entry.steps[static_cast<size_t>(begin)].action =
        BeginLoop{StepIndex(static_cast<int>(entry.steps.size())), rounds};
    entry.steps.emplace_back().action = RepeatLoop{StepIndex(begin)};
  }
  return predicted_time(program, entry, std::vector<StepCount>(entry.steps.size()), on).step_s;
}

}  // namespace

TEST_CASE("a loop takes as long as its rounds written out, whether processor or device is slower") {
  const std::vector<int64_t> inside = {800'000, 8'000, 8'000, 8'000'000, 8'000};  // 8.824 ms on the device
  for (const double issue_s : {0.0, 1e-4, 1e-3, 1.7e-3, 1.8e-3, 4e-3, 1e-2}) {
    CAPTURE(issue_s);
    Hardware on = hardware();
    on.issue_s = issue_s;
    CHECK(seconds_of_kernels({}, inside, 20, true, on) ==
          doctest::Approx(seconds_of_kernels({}, inside, 20, false, on)));
    // If the processor is far ahead when the loop begins, it may lose its lead on the way.
    const double written_out = seconds_of_kernels({80'000'000}, inside, 20, false, on),
                 looped = seconds_of_kernels({80'000'000}, inside, 20, true, on);
    CHECK(looped >= written_out * (1 - 1e-9));
    CHECK(looped <= written_out + std::min(5 * issue_s, 8.824e-3) + 1e-9);
  }
}

TEST_CASE("what is made of constants alone is not issued") {
  const TensorType type{DType::kF32, {{"n", 250'000}}};
  EntryPoint entry;
  for (int i = 0; i < 4; ++i) {
    entry.values.push_back({"v", type, replicated(1), BufferId(i)});
    entry.buffers.push_back({BufferKind::kActivation, bytes(type), i * bytes(type), 0, 0});
  }
  Step constant = kernel_step("constant", {}, 1);
  constant.as<RunKernel>()->attributes = {{"value", 0.5}, {"dims", type.dims}};
  // 0 is given; 2 is made of a constant, 3 of the given one as well.
  entry.steps = {constant, kernel_step("neg", {1}, 2), kernel_step("add", {0, 2}, 3)};
  Hardware on = hardware();
  on.step_overhead_s = 1;
  const auto issued = [&](size_t s) { return kernel_times(entry, Mesh(), on)[s].issued; };
  const auto overhead = [&](size_t s) { return kernel_times(entry, Mesh(), on)[s].overhead_s; };
  CHECK(overhead(0) == 1);
  on.issue_s = 1;
  CHECK(issued(0) == 0);
  CHECK(issued(1) == 0);
  CHECK(issued(2) == 1);
  CHECK(overhead(1) == 0);
  CHECK(overhead(2) == 1);
  CHECK(kernel_times(entry, Mesh(), on)[0].memory_s == doctest::Approx(1e6 / 1e9));
}

TEST_CASE("a product with a wider result has a class of its own") {
  EntryPoint entry;
  const auto add = [&](const TensorType& type) {
    const auto offset = static_cast<int64_t>(entry.buffers.size() * 1'000'000);
    const BufferId buffer = entry.buffers.add({BufferKind::kActivation, bytes(type), offset, 0, 0});
    entry.values.push_back({"v", type, replicated(type.dims.size()), buffer});
  };
  const Dim m = {"m", 100}, n = {"n", 10}, k = {"k", 50};
  add({DType::kBF16, {m, k}});
  add({DType::kBF16, {k, n}});
  add({DType::kBF16, {m, n}});
  add({DType::kF32, {m, n}});
  Hardware on = hardware();
  on.flops["bf16"] = 1e9;
  on.memory_bandwidth = 1e15;
  const auto seconds = [&](int result) {
    Step product = kernel_step("einsum", {0, 1}, result);
    product.as<RunKernel>()->attributes = {{"dims", Dims{m, n}}};
    entry.steps = {product};
    return kernel_time(entry, product, memory_traffic(entry, Mesh())[0], Mesh(), on).seconds();
  };
  const double at_peak = 2 * 100 * 10 * 50 / 1e9;
  on.efficiency["einsum"] = 0.5;
  CHECK(seconds(2) == doctest::Approx(at_peak / 0.5));
  CHECK(seconds(3) == doctest::Approx(at_peak / 0.5));
  on.efficiency["widened_einsum"] = 0.25;
  CHECK(seconds(2) == doctest::Approx(at_peak / 0.5));
  CHECK(seconds(3) == doctest::Approx(at_peak / 0.25));
  on.tables["widened_einsum"] = {{{100}, {10}, {50}}, {0.2}};
  CHECK(seconds(3) == doctest::Approx(at_peak / 0.2));
}

TEST_CASE("attention runs at a share for its length and heads, of the pairs that are seen") {
  const Dim b = {"b", 2}, h = {"h", 3}, l = {"l", 256}, m = {"m", 256}, d = {"d", 8};
  const auto local = [](const Dims& dims) {
    LocalType type{DType::kF32, {}};
    for (const Dim& dim : dims) type.dims.push_back({dim.name, dim.size});
    return type;
  };
  std::vector<LocalType> operands = {local({b, h, l, d}), local({b, h, m, d}), local({b, h, m, d})};
  std::vector<LocalType> results = {local({b, h, l, d}), local({b, h, l})};
  const auto seconds = [&](bool causal, const Hardware& on) {
    Attributes attributes = {{"over", m}, {"dim", d}};
    if (causal) {
      attributes.set("causal", true);
      attributes.set("positions", l);
    }
    return operation_time(op_named("attention"), {attributes, operands}, results, on).seconds();
  };
  const double all = 4.0 * 8 * 2 * 3 * 256 * 256 / 1e9, seen = all * (256 + 1) / (2 * 256);
  Hardware on = hardware();
  on.efficiency["batched_einsum"] = 0.5;
  CHECK(seconds(false, on) == doctest::Approx(all / 0.5));
  CHECK(seconds(true, on) > seen / 0.5);  // its kernel computes whole tiles
  on.efficiency["attention"] = Curve({{256, 0.25}, {512, 0.5}});
  CHECK(seconds(false, on) == doctest::Approx(all / 0.25));
  CHECK(seconds(true, on) == doctest::Approx(seen / 0.25));
  on.tables["attention"] = {{{256}, {3, 12}, {1}}, {0.2, 0.8}};
  CHECK(seconds(true, on) == doctest::Approx(seen / 0.4));  // six heads
  // Two heads of the queries to each of the memory: twice as many heads.
  on.tables["attention"] = {{{256}, {6, 24}, {1, 4}}, {0.1, 0.2, 0.2, 0.8}};
  CHECK(seconds(true, on) == doctest::Approx(seen / 0.1));
  operands[0] = results[0] = local({b, h, {"g", 2}, l, d});
  results[1] = local({b, h, {"g", 2}, l});
  const double middle = std::exp((std::log(0.1) + std::log(0.2) + std::log(0.2) + std::log(0.8)) / 4);
  CHECK(seconds(true, on) == doctest::Approx(2 * seen / middle));
}

TEST_CASE("collectives go through all levels of links") {
  Hardware nodes = nodes_of(2);
  const Mesh mesh({{"all", 16}});
  const auto taken = [&](CollectiveKind kind, double bytes) {
    return collective_time(kind, {0}, mesh, bytes, nodes).seconds();
  };
  const double two_levels = taken(CollectiveKind::kAllGather, 15e6);
  // A level as fast as the outermost one makes no difference to the bytes of an all_gather.
  Level block{8, nodes.axes["*"]};
  block.link.latency_s = 0;
  nodes.wider = {block};
  CHECK(taken(CollectiveKind::kAllGather, 15e6) == doctest::Approx(two_levels - 7 * kAlpha + kAlpha));
  nodes.wider[0].link.bytes_per_s = 10 * kBandwidth;
  // 16 parts of a megabyte: 7 nodes send one each, 8 parts come from the neighbour; of the 7, 4 are in the other block,
  // which each node gets once, and the other node's three are passed on.
  CHECK(taken(CollectiveKind::kAllGather, 15e6) == doctest::Approx(8.0 / 100 + 6.0 / 10 + 1 + kAlpha));
  // An all_to_all: 1 part of 15 to the neighbour, 6 within the block, 8 beyond.
  CHECK(taken(CollectiveKind::kAllToAll, 15e6) == doctest::Approx(1.0 / 100 + 6.0 / 10 + 8 + 15 * kAlpha));
  // 16 MB: 16 in the node, then 8 MB over 4 nodes of a block, then 2 MB between 2 blocks.
  CHECK(taken(CollectiveKind::kAllReduce, 30e6) ==
        doctest::Approx(16.0 / 100 + 2 * 8 * 0.75 / 10 + 2 * 2 * 0.5 + 2 * kAlpha));
  CHECK(collective_time(CollectiveKind::kAllGather, {0}, Mesh({{"all", 8}}), 7e6, nodes).seconds() ==
        doctest::Approx(4.0 / 100 + 3.0 / 10));
  CHECK(taken(CollectiveKind::kPermute, 1e6) == doctest::Approx(kAlpha + 1));
}

TEST_CASE("kernels and collectives slow each other down while both run") {
  const double kernel = 2e6 / 1e9, collective = 2 * kAlpha + 1;
  Hardware on = hardware();
  Link& link = on.axes["*"];
  link.slows_kernels = 2;
  // The kernel ends long before the collective.
  TimeCost time = ByHand(1).time(on);
  CHECK(time.steps[2].end_s == doctest::Approx(2 * kernel));
  CHECK(time.step_s == doctest::Approx(collective));
  CHECK(time.compute_s == doctest::Approx(kernel));
  link.slowed_by_kernels = 4;
  // In 2 * kernel of both, the collective does what takes it half of kernel alone.
  CHECK(ByHand(1).time(on).step_s == doctest::Approx(collective + 1.5 * kernel));
  CHECK(ByHand(7).time(on).step_s == doctest::Approx(7 * (collective + 1.5 * kernel)));
  // The collective ends long before the kernel.
  link.latency_s = 0;
  link.bytes_per_s = 1e9;
  on.memory_bandwidth = 1e6;
  time = ByHand(1).time(on);
  CHECK(time.steps[1].end_s == doctest::Approx(4 * 1e-3));
  CHECK(time.step_s == doctest::Approx(4 * 1e-3 + 2 - 4 * 1e-3 / 2));
}

}  // namespace mtfc::time_model_test
