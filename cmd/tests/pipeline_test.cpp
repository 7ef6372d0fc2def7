// A pipeline written in the language of models (models/pipeline.json) beside loops over its stages: results and
// gradients, with stages on one to four devices, and the bytes that its rounds send.

#include "core/compile/pipeline.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "cmd/files/files.h"
#include "core/cost/cost.h"
#include "core/testing/checkout.h"
#include "formats/layout/layout_reader.h"
#include "formats/model/model_reader.h"
#include "runtime/comm/comm_lockstep.h"
#include "runtime/execute/executor.h"
#include "runtime/testing/sharded_runs.h"

namespace mtfc::pipeline_test {
namespace {

constexpr int64_t kBatch = 20, kWidth = 3, kHidden = 5, kStages = 4, kMicro = 5;
using Values = std::map<std::string, std::vector<double>>;

Program program_of(const std::string& mesh, const std::string& rules) {
  const std::string file = std::string(kSourceFolder) + "/models/pipeline.json";
  std::vector<Diagnostic> warnings;
  ModelOverrides overrides;
  overrides.dtype = DType::kF64;
  const std::vector<std::string> sets = {fmt::format("batch={}", kBatch), fmt::format("width={}", kWidth),
                                         fmt::format("hidden={}", kHidden), fmt::format("stages={}", kStages),
                                         fmt::format("micro={}", kMicro)};
  const Model model = read_model(read_text(file, "model"), file, sets, warnings, {{}, overrides});
  LayoutSources sources;
  sources.mesh = mesh;
  sources.rules = rules;
  CompileOptions options;
  options.keep = {"wi/grad", "wo/grad"};
  return compile(model, read_layout(sources), options);
}

Values given() {
  Values values;
  uint64_t state = 7;
  const auto fill = [&](const std::string& name, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      state = state * 6364136223846793005 + 1442695040888963407;
      values[name].push_back(static_cast<double>(state >> 40) / static_cast<double>(1 << 23) - 1);
    }
  };
  fill("x", kBatch * kWidth);
  fill("targets", kBatch * kWidth);
  fill("wi", kStages * kWidth * kHidden);
  fill("wo", kStages * kHidden * kWidth);
  return values;
}

// The loss of the network, row by row and stage by stage.
double loss_of(const Values& values) {
  const auto at = [&](const char* name, int64_t i) { return values.at(name)[static_cast<size_t>(i)]; };
  double squares = 0;
  for (int64_t row = 0; row < kBatch; ++row) {
    std::vector<double> h;
    for (int64_t i = 0; i < kWidth; ++i) h.push_back(at("x", row * kWidth + i));
    for (int64_t stage = 0; stage < kStages; ++stage) {
      std::vector<double> next = h;
      for (int64_t k = 0; k < kHidden; ++k) {
        double wide = 0;
        for (int64_t i = 0; i < kWidth; ++i)
          wide += h[static_cast<size_t>(i)] * at("wi", (stage * kWidth + i) * kHidden + k);
        for (int64_t i = 0; i < kWidth && wide > 0; ++i)
          next[static_cast<size_t>(i)] += wide * at("wo", (stage * kHidden + k) * kWidth + i);
      }
      h = next;
    }
    for (int64_t i = 0; i < kWidth; ++i)
      squares += std::pow(h[static_cast<size_t>(i)] - at("targets", row * kWidth + i), 2);
  }
  return squares / static_cast<double>(kBatch * kWidth);
}

WholeTensors trained_once(const Program& program, const Values& values) {
  Processes processes = Processes::alone();
  LockstepComm comm(program.mesh(), processes);
  Executor executor(program, comm);
  executor.run(*program.find("init"), 0);
  for (size_t v = 0; v < program.variables.size(); ++v)
    if (const auto found = values.find(program.variables[v].decl.name); found != values.end())
      for (size_t d = 0; d < executor.devices(); ++d) {
        const LocalShard shard = executor.variable(v, d);
        fill_shard({shard.type, found->second}, shard);
      }
  const EntryPoint& entry = *program.find("train");
  executor.load(entry);
  for (const Binding& input : entry.inputs)
    for (size_t d = 0; d < executor.devices(); ++d) {
      const LocalShard shard = executor.shard(entry, input.value, d);
      fill_shard({shard.type, values.at(input.name)}, shard);
    }
  executor.run(entry, 0);
  return whole_outputs(executor, entry);
}

}  // namespace

TEST_CASE("stages that pass microbatches on give the loss and the gradients of the network") {
  Values values = given();
  const double loss = loss_of(values);
  for (const auto& [mesh, rules] : std::map<std::string, std::string>{{"s:1", ""},
                                                                      {"s:2", "stages:s"},
                                                                      {"s:3", "stages:s"},
                                                                      {"s:4", "stages:s"},
                                                                      {"s:4,d:2", "stages:s,rows:d"}}) {
    CAPTURE(mesh);
    const WholeTensors found = trained_once(program_of(mesh, rules), values);
    CHECK(found.at("loss").values[0] == doctest::Approx(loss).epsilon(1e-12));
    for (const char* name : {"wi", "wo"}) {
      std::vector<double>& weights = values[name];
      for (size_t i = 0; i < weights.size(); i += 7) {
        CAPTURE(i);
        const double before = weights[i];
        weights[i] = before + 1e-6;
        const double above = loss_of(values);
        weights[i] = before - 1e-6;
        const double below = loss_of(values);
        weights[i] = before;
        CHECK(std::abs(found.at(std::string(name) + "/grad").values[i] - (above - below) / 2e-6) < 1e-6);
      }
    }
  }
}

TEST_CASE("in every round a stage sends one microbatch on, and one gradient back") {
  const Program program = program_of("s:4", "stages:s");
  const EntryPoint& entry = *program.find("train");
  const CostReport report = cost_report(program, entry, predicted_counts(program, entry));
  const auto& kinds = report.communication.by_kind;
  const int64_t microbatch = kBatch / kMicro * kWidth, rounds = kMicro + kStages - 1;
  // What goes into the first round is a constant, and what comes out of the last one is not passed on.
  CHECK(kinds.at("exchange").count == 2 * (rounds - 1) + 1);
  CHECK(kinds.at("exchange").bytes_sent == (2 * (rounds - 1) + 1) * microbatch * 8);
  // The results of the last stage, and nothing else, are needed everywhere.
  CHECK(kinds.at("all_reduce").count == 1);
}

}  // namespace mtfc::pipeline_test
