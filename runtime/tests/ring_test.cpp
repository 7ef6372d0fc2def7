// Products in turns give what the interpreter does with the graph, and do what was predicted.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "core/compile/pipeline.h"
#include "core/cost/cost.h"
#include "core/graph/op_registry.h"
#include "core/op_rules/example.h"
#include "core/testing/sanitized.h"
#include "runtime/comm/comm_lockstep.h"
#include "runtime/testing/example_data.h"
#include "runtime/testing/reference.h"
#include "runtime/testing/ring_cases.h"

namespace mtfc::ring_test {
namespace {

constexpr uint64_t kDrawn = kSanitized ? 12 : 60;

std::vector<Mesh> meshes() {
  return {Mesh({{"p", 2}}), Mesh({{"p", 3}}), Mesh({{"p", 4}}), Mesh({{"p", 2}, {"q", 2}}),
          Mesh({{"p", 3}, {"q", 2}})};
}

// "" or what differs between the counts of a run and those predicted.
std::string count_problem(const Program& program, const WholeTensors& inputs) {
  Processes processes = Processes::alone();
  LockstepComm comm(program.mesh(), processes);
  Executor executor(program, comm);
  const EntryPoint& entry = *program.find("evaluate");
  executor.load(entry);
  for (const Binding& input : entry.inputs)
    for (size_t device = 0; device < executor.devices(); ++device)
      fill_shard(inputs.at(input.name), executor.shard(entry, input.value, device));
  executor.run(entry, 0);
  const std::vector<StepCount> predicted = predicted_counts(program, entry), counted = executor.counts(entry);
  for (size_t s = 0; s < predicted.size(); ++s)
    if (predicted[s].flops != counted[s].flops || predicted[s].bytes_sent != counted[s].bytes_sent ||
        predicted[s].elements != counted[s].elements ||
        (entry.steps[s].multiplies() && predicted[s].flops_total != counted[s].flops_total))
      return fmt::format("step {}: predicted {} flops, {} bytes; counted {}, {}", s, predicted[s].flops,
                         predicted[s].bytes_sent, counted[s].flops, counted[s].bytes_sent);
  return "";
}

// The examples of the operation, and products whose shards have a single row on some devices and several on others.
std::vector<Example> products() {
  std::vector<Example> found;
  for (const Example& example : find_signature("einsum")->examples)
    if (example.operands.size() == 2) found.push_back(example);
  const auto add = [&](std::string_view first, std::string_view second, std::string_view result) {
    const auto operand = [](std::string_view dims) {
      return ExampleOperand{{DType::kF64, dims_of(dims)}, Fill::kNormal, 0};
    };
    found.push_back({{operand(first), operand(second)}, {{"dims", dims_of(result)}}});
  };
  add("m=3 a=2 b=1", "b=1 a=2 n=64", "m=3 n=64");
  add("c=1 m=2 a=4 b=2", "b=2 a=4 n=8 d=3", "n=8 c=1 m=2 d=3");
  for (size_t i = 0, count = found.size(); i < count; ++i)
    if (is_float(found[i].operands[0].type.dtype) && !found[i].attributes.has("dtype"))
      found.push_back(with_floats(found[i], DType::kBF16));
  return found;
}

TEST_CASE("every product gives the same in turns") {
  std::map<std::string, int64_t> forms;
  for (const Example& example : products()) {
    WholeTensors inputs;
    const Model model = model_of("einsum", example, false, inputs);
    const WholeTensors expected = reference_outputs(model, inputs);
    for (const Mesh& mesh : meshes())
      for (uint64_t seed = 0; seed < kDrawn; ++seed) {
        const Layout layout = drawn_ring_layout(model, mesh, seed);
        const Program program = compile(model, layout, {});
        count_rings(program, *program.find("evaluate"), forms);
        INFO(fmt::format("{} mesh {} seed {}", to_string(model.dims), to_string(mesh), seed));
        REQUIRE(difference(expected, run_in_lockstep(program, inputs)) == "");
        REQUIRE(count_problem(program, inputs) == "");
      }
  }
  for (const char* form : {"joins", "adds", "passes"}) {
    CAPTURE(form);
    CHECK(forms[form] > (kSanitized ? 3 : 30));
  }
}

}  // namespace
}  // namespace mtfc::ring_test
