// A batch in microbatches gives the same results as the whole batch: outputs, gradients, updated variables,
// under layouts.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <map>
#include <set>

#include "cmd/files/files.h"
#include "cmd/files/included_files.h"
#include "core/compile/pipeline.h"
#include "core/cost/cost.h"
#include "core/program/program_check.h"
#include "core/testing/checkout.h"
#include "formats/layout/layout_reader.h"
#include "formats/model/model_reader.h"
#include "runtime/comm/comm_lockstep.h"
#include "runtime/execute/executor.h"
#include "runtime/testing/sharded_runs.h"

namespace mtfc::microbatches_test {
namespace {

constexpr int kSteps = 3;
const std::vector<std::string> kKept = {"w/grad",    "v/grad",          "table/grad",
                                        "idle/grad", "train/grad_norm", "total"};
const std::vector<std::string> kKeptOfGroups = {"w/grad",
                                                "v/grad",
                                                "table/grad",
                                                "sparse/moe/gates/w/grad",
                                                "sparse/moe/dispatch/experts/wi/grad",
                                                "sparse/moe/random/used"};

struct Use {
  int64_t parts = 1;
  std::string mesh = "a:1", rules;
  int64_t tokens = 0;  // of a group in groups.json; 0: model.json
};

Program program_of(const Use& use) {
  const std::string file =
      fmt::format("{}/testdata/microbatches/{}.json", kSourceFolder, use.tokens > 0 ? "groups" : "model");
  std::vector<std::string> sets;
  if (use.tokens > 0) sets.push_back(fmt::format("tokens={}", use.tokens));
  IncludedFiles includes;
  std::vector<Diagnostic> warnings;
  const Model model = read_model(
      read_text(file, "model"), file, sets, warnings,
      {[&](const IncludeName& name) { return includes.read(name); }, {{}, DType::kF64, use.parts}});
  LayoutSources sources;
  sources.mesh = use.mesh;
  sources.rules = use.rules;
  CompileOptions options;
  options.keep = use.tokens > 0 ? kKeptOfGroups : kKept;
  Program program = compile(model, read_layout(sources), options);
  const auto fault = find_program_fault(program);
  CHECK(std::string(fault ? fault->what() : "") == "");
  return program;
}

WholeTensor data_of(const InputDecl& input, int step) {
  const DType dtype = input.type.dtype;
  const Fill fill = is_integer(dtype) ? Fill::kIndex : dtype == DType::kBool ? Fill::kBool : Fill::kPositive;
  return drawn({input.type, fill, 4}, static_cast<uint64_t>(step) * 10 + input.name.size());
}

// `m` of the dtype is an input; rows of it are an output as they are, and as the loop over microbatches picks them,
// with a sum of them that the loop adds up where there is one.
std::string model_with(DType dtype) {
  return fmt::format(
      R"({{"mtfc": 1, "dims": {{"batch": 12, "d": 5}},
      "inputs": {{"x": {{"dims": ["batch", "d"]}}, "m": {{"dims": ["batch", "d"], "dtype": "{}"}}}},
      "variables": {{"w": {{"dims": ["d"], "init": 0.5}}}},
      "ops": [
        {{"out": "y", "op": "mul", "in": ["x", "w"]}},
        {{"out": "same", "op": "identity", "in": "m"}},
        {{"out": "other", "op": "reverse", "in": "m", "dim": "d"}},
        {{"out": "picked", "op": "where", "in": [{{"op": "greater", "in": ["y", 0.6]}}, "m", "other"]}},
        {{"out": "number", "op": "cast", "in": "m", "dtype": "f32"}},
        {{"out": "total", "op": "{}", "in": "picked"}},
        {{"out": "loss", "op": "reduce_mean", "in": {{"op": "square", "in": {{"op": "mul", "in": ["y", "number"]}}}}}}
      ],
      "train": {{"loss": "loss", "optimizer": {{"kind": "sgd", "lr": 0.01}}}},
      "outputs": ["same", "picked", "total", "loss"]}})",
      to_string(dtype), dtype == DType::kBool ? "reduce_any" : "reduce_sum");
}

Program program_with(DType dtype, int64_t parts, const std::string& mesh, const std::string& rules) {
  std::vector<Diagnostic> warnings;
  const Model model =
      read_model(model_with(dtype), "model.json", {}, warnings, {{}, {{}, std::nullopt, parts}});
  LayoutSources sources;
  sources.mesh = mesh;
  sources.rules = rules;
  CompileOptions options;
  options.verify = true;
  options.keep = {"w/grad"};
  return compile(model, read_layout(sources), options);
}

// Returns the outputs of every step, and the variables after the last.
WholeTensors trained(const Program& program) {
  Processes processes = Processes::alone();
  LockstepComm comm(program.mesh(), processes);
  Executor executor(program, comm);
  executor.run(*program.find("init"), 0);
  const EntryPoint& entry = *program.find("train");
  executor.load(entry);
  WholeTensors found;
  for (int step = 0; step < kSteps; ++step) {
    for (const InputDecl& input : program.inputs)
      for (const Binding& binding : entry.inputs)
        for (size_t d = 0; d < executor.devices() && binding.name == input.name; ++d)
          fill_shard(data_of(input, step), executor.shard(entry, binding.value, d));
    executor.run(entry, step);
    for (const Binding& output : entry.outputs) {
      std::vector<LocalShard> shards;
      for (size_t d = 0; d < executor.devices(); ++d)
        shards.push_back(executor.shard(entry, output.value, d));
      found[fmt::format("{} in step {}", output.name, step)] = assembled(output.name, shards[0].type, shards);
    }
    // The prediction equals the count.
    const CostReport predicted = cost_report(program, entry, predicted_counts(program, entry)),
                     counted = cost_report(program, entry, executor.counts(entry));
    CHECK(predicted.arithmetic.einsum_per_device == counted.arithmetic.einsum_per_device);
    CHECK(predicted.arithmetic.other_per_device == counted.arithmetic.other_per_device);
    CHECK(predicted.communication.total.elements == counted.communication.total.elements);
    CHECK(predicted.communication.total.bytes_sent == counted.communication.total.bytes_sent);
  }
  for (size_t v = 0; v < program.variables.size(); ++v) {
    const std::string& name = program.variables[v].decl.name;
    std::vector<LocalShard> shards;
    for (size_t d = 0; d < executor.devices(); ++d) shards.push_back(executor.variable(v, d));
    found[name] = assembled(name, shards[0].type, shards);
  }
  return found;
}

void check_like_whole(const WholeTensors& whole, const Use& use) {
  INFO(use.parts << " parts, mesh " << use.mesh << ", layout " << use.rules);
  const WholeTensors found = trained(program_of(use));
  REQUIRE(found.size() == whole.size());
  for (const auto& item : whole) {
    const std::string& name = item.first;
    CAPTURE(name);
    const WholeTensor &a = item.second, &b = found.at(name);
    CHECK(a.type == b.type);
    double largest = 0;
    for (size_t i = 0; i < a.values.size(); ++i)
      largest = std::max(largest, std::abs(a.values[i] - b.values[i]));
    CHECK(largest < 1e-12);
  }
}

}  // namespace

TEST_CASE("microbatches of groups give what the whole batch does, under every layout") {
  // Half a row, a row, two, three and six.
  for (const int64_t tokens : {2, 4, 8, 12, 24}) {
    CAPTURE(tokens);
    const WholeTensors whole = trained(program_of({1, "a:1", "", tokens}));
    CHECK(whole.at("dropped in step 0").values[0] > 0);
    const int64_t rows = std::max<int64_t>(1, tokens / 4);
    for (const int64_t parts : {2, 3, 4, 6}) {
      if (12 / rows % parts != 0) continue;
      for (const Use& use : std::vector<Use>{{parts, "a:1", ""},
                                             {parts, "a:2", "batch:a,groups:a"},
                                             {parts, "a:3", "batch:a"},
                                             {parts, "a:4", "groups:a,blocks:a"},
                                             {parts, "a:2,b:2", "batch:a,groups:a,experts:b"}})
        check_like_whole(whole, {use.parts, use.mesh, use.rules, tokens});
    }
  }
}

TEST_CASE("inputs and outputs of every dtype are cut into microbatches, and put together again") {
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kBF16, DType::kI32, DType::kI64, DType::kBool}) {
    CAPTURE(to_string(dtype));
    const WholeTensors whole = trained(program_with(dtype, 1, "a:1", ""));
    for (const auto& [mesh, rules] : {std::pair{"a:1", ""}, {"a:2", "batch:a"}, {"a:2", "d:a"}})
      for (const int64_t parts : {2, 6}) {
        CAPTURE(rules);
        CAPTURE(parts);
        const WholeTensors found = trained(program_with(dtype, parts, mesh, rules));
        REQUIRE(found.size() == whole.size());
        for (const auto& [name, tensor] : whole) {
          CAPTURE(name);
          CHECK(tensor.type == found.at(name).type);
          // A sum of bf16 is rounded once in each part and at the end.
          const bool is_rough = dtype == DType::kBF16 && name.starts_with("total");
          for (size_t i = 0; i < tensor.values.size(); ++i)
            CHECK(found.at(name).values[i] ==
                  doctest::Approx(tensor.values[i]).epsilon(is_rough ? 0.02 : 1e-5));
        }
      }
  }
}

TEST_CASE("parts of a batch give what the whole does, under every layout") {
  const WholeTensors whole = trained(program_of({}));
  CHECK(whole.at("rows in step 0").values.size() == 12 * 40);
  for (const int64_t parts : {1, 2, 3, 4, 6, 12}) {
    check_like_whole(whole, {parts, "a:1", ""});
    check_like_whole(whole, {parts, "a:2", "batch:a"});
    check_like_whole(whole, {parts, "a:3", "batch:a"});
    check_like_whole(whole, {parts, "a:5", "batch:a"});
    check_like_whole(whole, {parts, "a:2", "hidden:a"});
    check_like_whole(whole, {parts, "a:3", "classes:a"});
    check_like_whole(whole, {parts, "a:2,b:2", "batch:a,hidden:b"});
    check_like_whole(whole, {parts, "a:2,b:3", "time:a,hidden:b"});
    check_like_whole(whole, {parts, "a:2,b:2", "batch:b,classes:a"});
  }
}

TEST_CASE("gradients of all parts are reduced once, and activations take the memory of one part") {
  const auto report = [](int64_t parts) {
    const Program program = program_of({parts, "a:2", "batch:a"});
    const EntryPoint& train = *program.find("train");
    return cost_report(program, train, predicted_counts(program, train));
  };
  const CostReport whole = report(1), parts = report(6);
  const auto reduced = [](const CostReport& of) {
    return of.communication.by_kind.at("all_reduce").elements;
  };
  CHECK(reduced(parts) == reduced(whole));
}

}  // namespace mtfc::microbatches_test
