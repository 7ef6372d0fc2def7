// The bundled layouts that split the state of training (ZeRO): what a device holds, and that training is the same.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cmd/files/files.h"
#include "cmd/files/included_files.h"
#include "cmd/testing/command_results.h"
#include "core/compile/pipeline.h"
#include "core/cost/cost.h"
#include "core/model/zero_stage.h"
#include "core/program/memory_use.h"
#include "core/program/program_check.h"
#include "core/testing/checkout.h"
#include "formats/layout/layout_reader.h"
#include "formats/model/model_reader.h"
#include "runtime/comm/comm_lockstep.h"
#include "runtime/data/feed.h"
#include "runtime/execute/executor.h"
#include "runtime/execute/whole_value.h"

namespace mtfc::zero_test {
namespace {

const std::string kModel = std::string(kSourceFolder) + "/models/transformer_lm.json";

struct Use {
  int stage = 0;  // 0: data parallelism alone
  int devices = 4;
  std::string optimizer = "adamw";
  int64_t microbatches = 1;
  std::optional<DType> dtype = {};
  std::vector<std::string> sets = {"layers=2"};
  bool clips = true;  // scales the gradients by the norm of all of them
  bool f32_gradients = false;
  std::string rules = "batch:all";
  bool scatters = false;  // each microbatch its gradients
  bool combines = true;   // small all_reduces
  bool regathers = true;
  bool propagates = false;
};

Model model_of(const Use& use) {
  std::string text = read_text(kModel, "model");
  const std::string loss = "\"loss\": \"loss\",";
  if (use.clips) text.insert(text.find(loss, text.find("\"train\"")) + loss.size(), " \"clip_norm\": 0.5,");
  if (use.f32_gradients) text.insert(text.find('{') + 1, R"("precision": {"gradients": "f32"},)");
  // Means over two dimensions, however small the variables of these tests are.
  const std::string kind = "\"kind\": \"adamw\", \"weight_decay\": \"weight_decay\"";
  if (use.optimizer == "adafactor")
    text.replace(text.find(kind), kind.size(), "\"kind\": \"adafactor\", \"least_factored\": 1");
  IncludedFiles includes;
  std::vector<Diagnostic> warnings;
  return read_model(text, kModel, use.sets, warnings,
                    {[&](const IncludeName& name) { return includes.read(name); },
                     {use.optimizer, use.dtype, use.microbatches}});
}

Program program_of(const Use& use) {
  LayoutSources sources;
  sources.mesh = fmt::format("all:{}", use.devices);
  if (use.stage > 0) {
    sources.file = fmt::format("{}/models/layouts/zero_{}.json", kSourceFolder, use.stage);
    sources.file_text = read_text(sources.file, "layout");
  } else {
    sources.rules = use.rules;
  }
  CompileOptions options;
  Plan plan;
  plan.scatters_microbatches = use.scatters;
  if (!use.combines) options.without_passes.insert("combine_reductions");
  options.verify = true;
  Layout layout = read_layout(sources);
  if (!use.regathers) layout.state.regather.clear();
  layout.propagate = use.propagates;
  return compile(model_of(use), layout, options, plan);
}

CommunicationCost communication(const Program& program) {
  const EntryPoint& train = *program.find("train");
  return cost_report(program, train, predicted_counts(program, train)).communication;
}

CollectiveTotals of_kind(const CommunicationCost& sent, const char* kind) {
  const auto at = sent.by_kind.find(kind);
  return at == sent.by_kind.end() ? CollectiveTotals{} : at->second;
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

struct Trained {
  std::vector<double> losses;
  std::vector<std::string> variables;  // the bytes of each, on each device
  CollectiveTotals sent;               // as predicted
  bool is_predicted = true;            // what the steps count
};

bool sends_same(const std::vector<StepCount>& counted, const std::vector<StepCount>& predicted) {
  return std::equal(counted.begin(), counted.end(), predicted.begin(), predicted.end(),
                    [](const StepCount& a, const StepCount& b) {
                      return a.elements == b.elements && a.bytes_sent == b.bytes_sent;
                    });
}

double number_at(const LocalShard& shard) {
  if (shard.type.dtype == DType::kF64) return *reinterpret_cast<const double*>(shard.data);
  return static_cast<double>(*reinterpret_cast<const float*>(shard.data));
}

// Some steps on random data, on all devices in this process.
Trained trained(const Use& use, int64_t steps) {
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
  const std::vector<StepCount> predicted = predicted_counts(program, train);
  Trained found{{}, {}, cost_report(program, train, predicted).communication.total};
  for (int64_t step = 0; step < steps; ++step) {
    feed.fill_training(step);
    executor.run(train, step);
    found.losses.push_back(number_at(executor.shard(train, train.outputs[0].value, 0)));
    found.is_predicted = found.is_predicted && sends_same(executor.counts(train), predicted);
  }
  for (size_t v = 0; v < program.variables.size(); ++v)
    for (size_t device = 0; device < executor.devices(); ++device) {
      const LocalShard shard = executor.variable(v, device);
      found.variables.emplace_back(reinterpret_cast<const char*>(shard.data),
                                   static_cast<size_t>(shard.elements() * size_of(shard.type.dtype)));
    }
  return found;
}

std::vector<double> losses(const Use& use, int64_t steps) {
  return trained(use, steps).losses;
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
  const Memory gradients = memory_of(program_of({2}));
  CHECK(gradients.state == state.state);
  CHECK(gradients.variables == whole.variables);
  CHECK(gradients.gradients <= whole.variables / 4 * 101 / 100);
  CHECK(gradients.peak <= 40678528);
  // Without microbatches, a gradient is scattered as soon as it is complete at both stages.
  CHECK(state.gradients == gradients.gradients);
  CHECK(state.peak == gradients.peak);
  const Memory variables = memory_of(program_of({3}));
  CHECK(variables.state == state.state);
  CHECK(variables.gradients <= whole.variables / 4 * 101 / 100);
  CHECK(variables.variables == whole.variables / 4);
  CHECK(variables.peak < gradients.peak);
}

// In bf16, a parameter has 2 bytes that all devices read, an f32 master of 4 and two moments of 4 in the optimizer's
// state, and the f32 sum of its gradients (Rajbhandari et al. 2020, with gradients of 4 bytes in place of 2).
TEST_CASE("a parameter takes the bytes of mixed precision under every stage") {
  const auto bytes_of = [](int stage, int devices) {
    Use use{stage, devices, "adamw", 2, DType::kBF16};
    use.scatters = stage >= 2;
    const Program program = program_of(use);
    const EntryPoint& train = *program.find("train");
    const auto largest = [&](const std::string& prefix) {
      int64_t most = 0;
      for (const Value& value : train.values)
        if (value.name.starts_with(prefix) && value.buffer != kNoBuffer)
          most = std::max(most, train.buffers[value.buffer].bytes);
      return most;
    };
    int64_t parameters = 0;
    std::map<std::string, int64_t> bytes;
    for (const ProgramVariable& variable : program.variables) {
      const std::string& name = variable.decl.name;
      if (!name.starts_with("layer_")) continue;
      bytes[variable.decl.optimizer_state ? "state" : "masters"] += variable.bytes;
      if (!variable.decl.trainable) continue;
      parameters += elements(variable.decl.type.dims);
      bytes["bf16"] += largest(name + "/bf16");
      bytes["gradients"] += largest(name + "/grad/sum");
    }
    std::map<std::string, double> of_each;
    for (const auto& [part, sum] : bytes)
      of_each[part] = static_cast<double>(sum) / static_cast<double>(parameters);
    return of_each;
  };
  using Bytes = std::map<std::string, double>;
  const double d = 4;
  CHECK(bytes_of(0, 4) == Bytes{{"bf16", 2}, {"masters", 4}, {"state", 8}, {"gradients", 4}});
  CHECK(bytes_of(1, 4) == Bytes{{"bf16", 2}, {"masters", 4 / d}, {"state", 8 / d}, {"gradients", 4}});
  CHECK(bytes_of(2, 4) == Bytes{{"bf16", 2}, {"masters", 4 / d}, {"state", 8 / d}, {"gradients", 4 / d}});
  CHECK(bytes_of(3, 4) == Bytes{{"bf16", 2 / d}, {"masters", 4 / d}, {"state", 8 / d}, {"gradients", 4 / d}});
}

TEST_CASE("a stage that names its axes leaves replicas over the others") {
  const auto state = [](const std::string& stage) {
    const auto memory = report_of("transformer_lm.json",
                                  "--set layers=2 --mesh replicas:2,data:4 --layout "
                                  "batch:replicas+data,zero:" +
                                      stage)["memory"];
    return memory["optimizer_state"].get<double>();
  };
  CHECK(state("1:data") == doctest::Approx(2 * state("1")).epsilon(1e-4));
  CHECK(state("1:replicas") == doctest::Approx(4 * state("1")).epsilon(1e-4));
  CHECK(state("1:data+replicas") == state("1"));
  CHECK(
      outcome_in_models("$MTFC verify transformer_lm.json --set layers=2 --set batch=8 --set length=16 --set "
                        "d_model=32 --set d_ff=64 --set heads=4 --set vocab=64 --mesh "
                        "replicas:2,data:2,model:2 --layout batch:replicas+data,heads:model,zero:3:data "
                        "--microbatches 2")
          .starts_with("exit 0: the same as on one device: "));
}

TEST_CASE("training in bf16 is the same to the bit at every stage") {
  const std::vector<std::string> sets = {"layers=2", "d_model=8", "d_ff=16", "heads=4",
                                         "d_kv=4",   "vocab=24",  "batch=8", "length=6"};
  for (const int64_t microbatches : {1, 2}) {
    const auto run = [&](int stage) {
      Use use{stage, 2, "adamw", microbatches, DType::kBF16, sets};
      use.clips = false;  // the norm of split gradients is added up in another order
      return trained(use, 20);
    };
    const Trained expected = run(0);
    CHECK(expected.losses.back() != expected.losses.front());
    for (const int stage : {1, 2, 3}) {
      CAPTURE(microbatches);
      CAPTURE(stage);
      const Trained found = run(stage);
      CHECK(found.losses == expected.losses);
      CHECK(found.is_predicted);
    }
  }
}

TEST_CASE("training is the same at every stage, with any optimizer, and in microbatches") {
  const std::vector<std::string> sets = {"layers=2", "d_model=10", "d_ff=14", "heads=3",
                                         "d_kv=5",   "vocab=23",   "batch=4", "length=6"};
  for (const char* optimizer : {"adamw", "adafactor"}) {
    const std::vector<double> expected = losses({0, 1, optimizer, 1, DType::kF64, sets}, 50);
    CHECK(expected.back() != expected.front());
    for (const int devices : {2, 4})
      for (const int stage : {1, 2, 3})
        for (const int64_t microbatches : {1, 2}) {
          CAPTURE(devices);
          CAPTURE(stage);
          CAPTURE(microbatches);
          const std::vector<double> found =
              losses({stage, devices, optimizer, microbatches, DType::kF64, sets}, 50);
          for (size_t step = 0; step < found.size(); ++step)
            CHECK(std::abs(found[step] - expected[step]) < 1e-9 * expected[step]);
        }
  }
}

TEST_CASE(
    "the first stage adds up whole gradients of microbatches, the second splits them where memory asks") {
  const auto gradients = [](int stage, bool scatters) {
    Use use{stage, 4, "adamw", 2};
    use.scatters = scatters;
    return memory_of(program_of(use)).gradients;
  };
  CHECK(gradients(1, true) == gradients(1, false));
  CHECK(gradients(2, false) == gradients(1, false));
  CHECK(gradients(2, true) < gradients(2, false) / 2);
}

TEST_CASE("devices hold shards of the sums of all gradients that each microbatch scatters") {
  for (const bool propagates : {false, true})
    for (const DType dtype : {DType::kF32, DType::kBF16})
      for (const int stage : {2, 3}) {
        CAPTURE(propagates);
        CAPTURE(to_string(dtype));
        CAPTURE(stage);
        // Many rows: it takes less to reduce every gradient than to gather what it is made of.
        Use use{stage, 4, "adamw", 2, dtype, {"layers=2", "batch=128"}};
        use.scatters = true;
        use.propagates = propagates;
        const Program program = program_of(use);
        int64_t sums = 0;  // in f32
        for (const ProgramVariable& variable : program.variables)
          if (variable.decl.trainable) sums += 4 * elements(variable.decl.type.dims);
        CHECK(memory_of(program).gradients <= sums / 4 * 11 / 10);
      }
}

TEST_CASE("gradients that each microbatch scatters are those of the whole batch") {
  for (const bool propagates : {false, true})
    for (const int stage : {2, 3}) {
      CAPTURE(propagates);
      CAPTURE(stage);
      Use use{stage,
              4,
              "adamw",
              2,
              DType::kF64,
              {"layers=2", "d_model=10", "d_ff=14", "heads=3", "d_kv=5", "vocab=23", "batch=4", "length=6"}};
      const std::vector<double> whole = losses(use, 10);
      use.scatters = true;
      use.propagates = propagates;
      const std::vector<double> scattered = losses(use, 10);
      for (size_t step = 0; step < whole.size(); ++step)
        CHECK(std::abs(scattered[step] - whole[step]) < 1e-9 * whole[step]);
    }
}

TEST_CASE(
    "small all_reduces that are sent as one give the same bits, and what is counted is what is predicted") {
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kBF16})
    for (const int stage : {0, 1, 2, 3})
      for (const int64_t microbatches : {1, 2})
        for (const bool clips : {false, true}) {
          CAPTURE(to_string(dtype));
          CAPTURE(stage);
          CAPTURE(microbatches);
          CAPTURE(clips);
          Use use{
              stage,
              4,
              "adamw",
              microbatches,
              dtype,
              {"layers=2", "d_model=10", "d_ff=14", "heads=3", "d_kv=5", "vocab=23", "batch=6", "length=6"},
              clips};
          const Trained together = trained(use, 3);
          use.combines = false;
          const Trained apart = trained(use, 3);
          CHECK(together.losses == apart.losses);
          CHECK(together.variables == apart.variables);
          CHECK(together.is_predicted);
          CHECK(apart.is_predicted);
          CHECK(together.sent.bytes_sent == apart.sent.bytes_sent);
          CHECK(together.sent.elements == apart.sent.elements);
          if (stage == 0) CHECK(together.sent.count < apart.sent.count / 2);
        }
}

TEST_CASE("with microbatches devices send what they send without, with any precision and at any stage") {
  struct Policy {
    DType dtype;
    bool f32_gradients;
  };
  for (const Policy policy : {Policy{DType::kF32, false}, {DType::kBF16, false}, {DType::kBF16, true}})
    for (const int stage : {0, 1, 2, 3})
      for (const bool clips : {false, true}) {
        CAPTURE(to_string(policy.dtype));
        CAPTURE(policy.f32_gradients);
        CAPTURE(stage);
        CAPTURE(clips);
        // So many rows that it never takes less to gather them than to reduce gradients.
        Use use{stage,        4,
                "adamw",      1,
                policy.dtype, {"layers=2", "batch=128", "vocab=64"},
                clips,        policy.f32_gradients};
        const CommunicationCost one = communication(program_of(use));
        for (const int64_t microbatches : {2, 8}) {
          CAPTURE(microbatches);
          use.microbatches = microbatches;
          const CommunicationCost all = communication(program_of(use));
          for (const char* kind : {"all_reduce", "reduce_scatter"}) {
            CAPTURE(kind);
            CHECK(of_kind(all, kind).bytes_sent == of_kind(one, kind).bytes_sent);
            // Behind the loop more of the small ones are under way together, and travel as one.
            CHECK(of_kind(all, kind).count <= of_kind(one, kind).count);
          }
          // Each microbatch gathers the variables of stage 3 anew.
          if (stage < 3) CHECK(all.total.bytes_sent == one.total.bytes_sent);
        }
      }
}

TEST_CASE("with microbatches tensor parallelism sends as many bytes as without") {
  for (const DType dtype : {DType::kF32, DType::kBF16})
    for (const char* rules : {"heads:all,d_ff:all", "heads:all,d_ff:all,vocab:all", "length:all"}) {
      CAPTURE(to_string(dtype));
      CAPTURE(rules);
      Use use{0, 4, "adamw", 1, dtype, {"layers=2", "batch=128"}};
      use.rules = rules;
      const auto sent = [&](int64_t microbatches) {
        use.microbatches = microbatches;
        return communication(program_of(use)).total.bytes_sent;
      };
      const int64_t one = sent(1);
      CHECK(sent(2) == one);
      CHECK(sent(8) == one);
    }
}

// ZeRO spreads what devices along the axis of the batch hold copies of, and leaves the split of the model alone.
TEST_CASE("no stage gathers gradients over the axes that split the model") {
  const auto compiled = [](int stage) {
    LayoutSources sources;
    sources.mesh = "data:2,model:2";
    sources.rules = "batch:data,d_ff:model,heads:model,vocab:model";
    Use use;
    use.clips = false;
    return compile(model_of(use), with_zero_stage(read_layout(sources), {0}, stage), {});
  };
  const auto gathered_over_model = [](const Program& program) {
    std::vector<std::string> names;
    for (const Step& step : program.find("train")->steps)
      if (const auto* start = step.as<StartCollective>())
        if (start->collective.kind == CollectiveKind::kAllGather && contains(start->collective.axes, 1))
          names.push_back(step.name);
    return names;
  };
  const Program without = compiled(0);
  const int64_t sent = communication(without).total.bytes_sent;
  for (const int stage : {1, 2, 3}) {
    CAPTURE(stage);
    const Program program = compiled(stage);
    CHECK(gathered_over_model(program).empty());
    CHECK(memory_of(program).state < memory_of(without).state / 2 * 11 / 10);
    CHECK(memory_of(program).peak < memory_of(without).peak);
    // An all_gather brings the new variables, or variables twice, to the two devices along the axis.
    CHECK(communication(program).total.bytes_sent <= sent + 2 * memory_of(without).variables);
  }
}

TEST_CASE("the backward pass gathers variables anew in any dtype, with microbatches too") {
  for (const DType dtype : {DType::kF32, DType::kBF16})
    for (const int64_t microbatches : {1, 2}) {
      CAPTURE(to_string(dtype));
      CAPTURE(microbatches);
      Use use{3, 4, "adamw", microbatches, dtype};
      // Gathers that start ahead may hold as much as the largest of them, which is that of no table here.
      use.sets = {"layers=4", "vocab=512"};
      const auto peak = [&](bool regathers) {
        use.regathers = regathers;
        return memory_of(program_of(use)).peak;
      };
      if (microbatches == 1) CHECK(peak(true) < peak(false));
      // In a small batch, it costs less to send activations than to gather variables twice.
      use.sets.push_back("batch=256");
      const auto gathered = [&](bool regathers) {
        use.regathers = regathers;
        return of_kind(communication(program_of(use)), "all_gather").bytes_sent;
      };
      // Not all variables have a gradient that needs them.
      CHECK(gathered(true) > gathered(false) * 3 / 2);
    }
}

}  // namespace mtfc::zero_test
