// The bundled layouts that split the state of training (ZeRO): what a device holds, and that training is the same.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "cmd/files/files.h"
#include "cmd/files/included_files.h"
#include "core/cost/cost.h"
#include "core/passes/pipeline.h"
#include "core/program/memory_use.h"
#include "core/program/program_check.h"
#include "formats/layout/layout_reader.h"
#include "formats/model/model_reader.h"
#include "runtime/comm/comm_lockstep.h"
#include "runtime/data/feed.h"
#include "runtime/execute/executor.h"
#include "runtime/execute/whole_value.h"

namespace mtfc::zero_test {
namespace {

const std::string kModel = MTFC_SOURCE_DIR "/models/transformer_lm.json";

struct Use {
  int stage = 0;  // 0: data parallelism alone
  int devices = 4;
  std::string optimizer = "adamw";
  int64_t microbatches = 1;
  bool f64 = false;
  std::vector<std::string> sets = {"layers=2"};
  bool clips = true;  // scales the gradients by the norm of all of them
};

Model model_of(const Use& use) {
  std::string text = read_text(kModel, "model");
  const std::string loss = "\"loss\": \"loss\",";
  if (use.clips) text.insert(text.find(loss, text.find("\"train\"")) + loss.size(), " \"clip_norm\": 0.5,");
  IncludedFiles includes;
  std::vector<Diagnostic> warnings;
  return read_model(text, kModel, use.sets, warnings,
                    {[&](const IncludeName& name) { return includes.read(name); },
                     {use.optimizer, use.f64 ? std::optional(DType::kF64) : std::nullopt, use.microbatches}});
}

Program program_of(const Use& use) {
  LayoutSources sources;
  sources.mesh = fmt::format("all:{}", use.devices);
  if (use.stage > 0) {
    sources.file = fmt::format("{}/models/layouts/zero_{}.json", MTFC_SOURCE_DIR, use.stage);
    sources.file_text = read_text(sources.file, "layout");
  } else {
    sources.rules = "batch:all";
  }
  CompileOptions options;
  options.verify = true;
  return compile(model_of(use), read_layout(sources), options);
}

struct Memory {
  int64_t peak = 0, variables = 0, state = 0, gradients = 0;
};
// `gradients`: the most that are alive at any step.
Memory memory_of(const Program& program) {
  const EntryPoint& train = *program.find("train");
  Memory memory{train.arena_bytes, 0, 0, 0};
  for (const ProgramVariable& variable : program.variables)
    (variable.decl.optimizer_state ? memory.state : memory.variables) += variable.bytes;
  const MemoryUse use = memory_use(train);
  memory.gradients = *std::max_element(use.gradients.begin(), use.gradients.end());
  return memory;
}

// The losses of some steps on random data, on all devices in this process.
std::vector<double> losses(const Use& use, int64_t steps) {
  const Program program = program_of(use);
  Processes processes = Processes::alone();
  LockstepComm comm(program.mesh(), processes);
  Executor executor(program, comm, {7, false});
  executor.run(*program.find("init"), 0);
  const EntryPoint& train = *program.find("train");
  executor.load(train);
  std::vector<InputData> data;
  for (const InputDecl& input : program.inputs)
    data.push_back({input.name, "random", RandomSource{RandomKind::kInteger, 0, 23}, std::nullopt});
  Feed feed(executor, train, data, 7);
  std::vector<double> found;
  for (int64_t step = 0; step < steps; ++step) {
    feed.fill_training(step);
    executor.run(train, step);
    found.push_back(*reinterpret_cast<const double*>(executor.shard(train, train.outputs[0].value, 0).data));
  }
  return found;
}

}  // namespace

TEST_CASE("each stage splits more of what data parallelism repeats on every device") {
  const Memory whole = memory_of(program_of({0}));
  CHECK(whole.state == 29511688);
  CHECK(whole.variables == 14755840);
  CHECK(whole.gradients >= whole.variables);
  const Memory state = memory_of(program_of({1}));
  CHECK(state.state == 7377928);
  CHECK(state.variables == whole.variables);
  CHECK(state.gradients >= whole.variables);
  const Memory gradients = memory_of(program_of({2}));
  CHECK(gradients.state == state.state);
  CHECK(gradients.variables == whole.variables);
  CHECK(gradients.gradients <= whole.variables / 4 * 101 / 100);
  CHECK(gradients.peak <= 40678528);
  // With clipping, both stages have their peak where the activations are alive, and few gradients yet.
  const auto unclipped = [](int stage) {
    Use use{stage};
    use.clips = false;
    return memory_of(program_of(use)).peak;
  };
  CHECK(unclipped(2) < unclipped(1));
  const Memory variables = memory_of(program_of({3}));
  CHECK(variables.state == state.state);
  CHECK(variables.gradients <= whole.variables / 4 * 101 / 100);
  CHECK(variables.variables == whole.variables / 4);
  CHECK(variables.peak < gradients.peak);
}

TEST_CASE("training is the same at every stage, with any optimizer, and in microbatches") {
  const std::vector<std::string> sets = {"layers=2", "d_model=10", "d_ff=14", "heads=3",
                                         "d_kv=5",   "vocab=23",   "batch=4", "length=6"};
  for (const char* optimizer : {"adamw", "adafactor"}) {
    const std::vector<double> expected = losses({0, 1, optimizer, 1, true, sets}, 50);
    CHECK(expected.back() != expected.front());
    for (const int devices : {2, 4})
      for (const int stage : {1, 2, 3})
        for (const int64_t microbatches : {1, 2}) {
          CAPTURE(devices);
          CAPTURE(stage);
          CAPTURE(microbatches);
          const std::vector<double> found = losses({stage, devices, optimizer, microbatches, true, sets}, 50);
          for (size_t step = 0; step < found.size(); ++step)
            CHECK(std::abs(found[step] - expected[step]) < 1e-9 * expected[step]);
        }
  }
}

}  // namespace mtfc::zero_test
