#include "runtime/execute/executor.h"

#include <doctest/doctest.h>

#include "core/diagnostics/error.h"
#include "core/graph/op_registry.h"
#include "core/testing/steps_by_hand.h"
#include "runtime/comm/comm_lockstep.h"
#include "runtime/testing/elements.h"

namespace mtfc::executor_test {
namespace {

Step step_of(const char* op, const std::string& name, std::initializer_list<int> inputs, int output) {
  Step step = kernel_step(op, inputs, output);
  step.name = name;
  step.source = "/ops/0";
  return step;
}

// y = op(x) on x[a5] split over p:2, then y gathered, then its middle part kept.
Program program_of(const char* op) {
  Program program;
  program.layout.mesh = Mesh({{"p", 2}});
  const TensorType type{DType::kF32, {{"a", 5}}};
  const Sharding split{{{0}}, {}};
  EntryPoint entry;
  entry.name = "evaluate";
  entry.values = {{"x", type, split, BufferId(0)},
                  {"y", type, split, BufferId(1)},
                  {"y@whole", type, replicated(1), BufferId(2)},
                  {"y@p", type, split, BufferId(3)}};
  for (int64_t i = 0; i < 5; ++i) entry.buffers.push_back({BufferKind::kActivation, 64, 64 * i, 0, 3});
  entry.buffers.push_back({BufferKind::kWorkspace, 128, 320, 1, 2});
  entry.arena_bytes = 448;
  Step gather = start_step({CollectiveKind::kAllGather, {0}}, 1, 2);
  gather.name = "y@whole";
  gather.workspace = BufferId(5);
  Step slice;
  slice.action = KeepSlice{};
  slice.name = "y@p";
  slice.inputs = value_ids({2});
  slice.outputs = value_ids({3});
  entry.steps = {step_of(op, "y", {0}, 1), gather, wait_step(gather, 1), slice};
  entry.inputs = {{"x", ValueId(0)}};
  entry.outputs = {{"y", ValueId(2)}};
  program.entry_points.push_back(std::move(entry));
  return program;
}

void fill(Executor& executor, const EntryPoint& entry, double sign) {
  for (size_t device = 0; device < executor.devices(); ++device) {
    const LocalShard shard = executor.shard(entry, ValueId(0), device);
    for (int64_t i = 0; i < shard.elements(); ++i)
      store_element(shard.data, DType::kF32, i, sign * static_cast<double>(shard.box[0].begin + i + 1));
  }
}

TEST_CASE("kernels, collectives and slices run in order on every device, and are counted") {
  const Program program = program_of("square");
  const EntryPoint& entry = program.entry_points[0];
  Processes processes = Processes::alone();
  LockstepComm comm(program.mesh(), processes);
  Executor executor(program, comm);
  size_t seen = 0;
  executor.observe([&](const EntryPoint&, size_t step, double seconds) {
    CHECK(step == seen++);
    CHECK(seconds >= 0);
  });
  for (int run = 0; run < 2; ++run) {
    seen = 0;
    fill(executor, entry, 1);
    executor.run(entry, run);
  }
  CHECK(seen == 4);
  for (size_t device = 0; device < 2; ++device) {
    const LocalShard whole = executor.shard(entry, ValueId(2), device),
                     kept = executor.shard(entry, ValueId(3), device);
    REQUIRE(whole.elements() == 5);
    for (int64_t i = 0; i < 5; ++i)
      CHECK(load_element(whole.data, DType::kF32, i) == static_cast<double>((i + 1) * (i + 1)));
    CHECK(kept.elements() == (device == 0 ? 2 : 3));
    CHECK(load_element(kept.data, DType::kF32, 0) == (device == 0 ? 1 : 9));
  }
  const std::vector<StepCount> counts = executor.counts(entry);
  REQUIRE(counts.size() == 4);
  CHECK(counts[0].flops == 3);
  CHECK(counts[0].flops_total == 5);
  CHECK(counts[1].elements == 5);
  CHECK(counts[1].bytes_sent == (5 - 2) * 4);
  CHECK(counts[2].bytes_sent == 0);
}

TEST_CASE("the first value that is not finite stops the run and is named") {
  const Program program = program_of("log");
  const EntryPoint& entry = program.entry_points[0];
  Processes processes = Processes::alone();
  LockstepComm comm(program.mesh(), processes);
  Executor executor(program, comm, {0, true});
  fill(executor, entry, -1);
  CHECK_THROWS_WITH_AS(executor.run(entry, 7),
                       "evaluate, step 8: /ops/0 (log 'y'): 'y' has the value nan at [a=0] (on device p=0)",
                       RunError);
  fill(executor, entry, 1);
  CHECK_NOTHROW(executor.run(entry, 8));
}

TEST_CASE("a program that needs more memory than there is says so") {
  Program program = program_of("square");
  program.entry_points[0].arena_bytes = int64_t{1} << 56;
  Processes processes = Processes::alone();
  LockstepComm comm(program.mesh(), processes);
  CHECK_THROWS_AS(Executor(program, comm), RunError);
}

}  // namespace
}  // namespace mtfc::executor_test
