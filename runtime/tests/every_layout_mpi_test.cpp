// A sample of operations, reshapes and layouts on real ranks.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "core/compile/pipeline.h"
#include "core/graph/op_registry.h"
#include "runtime/comm/mpi/comm_mpi.h"
#include "runtime/testing/example_data.h"
#include "runtime/testing/reference.h"
#include "scripts/mpi_test_main.h"

namespace mtfc::every_layout_mpi_test {
namespace {

std::vector<Mesh> meshes_of(int64_t ranks) {
  std::vector<Mesh> meshes = {Mesh({{"p", ranks}})};
  if (ranks == 4) meshes.push_back(Mesh({{"p", 2}, {"q", 2}}));
  return meshes;
}

// Every `stride`-th legal layout of the model on every mesh of these ranks.
int64_t try_sample(const Model& model, const WholeTensors& inputs, Processes& processes, int64_t stride) {
  const WholeTensors expected = reference_outputs(model, inputs);
  int64_t ran = 0, seen = 0;
  for (const Mesh& mesh : meshes_of(processes.size())) {
    MpiComm comm(mesh, processes, test_node());
    for (const Layout& layout : all_rule_sets(mesh, model.dims, mesh.axes().size() == 2)) {
      if (!is_legal(model, layout) || seen++ % stride != 0) continue;
      const std::string problem = run_and_compare(compile(model, layout, {}), comm, inputs, expected);
      INFO(fmt::format("{} mesh {} layout {}", model.name, to_string(mesh), to_string(layout)));
      CHECK(problem == "");
      ++ran;
    }
  }
  return ran;
}

TEST_CASE("reshapes on ranks") {
  Processes& processes = test_processes();
  const std::vector<std::pair<Dims, Dims>> shapes = {
      {{{"a", 16}, {"b", 8}}, {{"c", 16}, {"d", 8}}},
      {{{"a", 16}, {"b", 8}}, {{"c", 4}, {"d", 4}, {"e", 8}}},
      {{{"a", 15}, {"b", 7}}, {{"c", 21}, {"d", 5}}},
  };
  for (const auto& [from, to] : shapes) {
    WholeTensors inputs;
    const Example example{{{{DType::kF32, from}, Fill::kNormal, 0}}, {{"dims", to}}};
    CHECK(try_sample(model_of("reshape", example, false, inputs), inputs, processes, 3) > 0);
  }
}

TEST_CASE("operations on ranks") {
  Processes& processes = test_processes();
  for (const char* kind :
       {"einsum", "gather", "scatter_add", "argmax", "reduce_max", "softmax_cross_entropy", "rename"}) {
    const Signature& signature = *find_signature(kind);
    for (const Example& example : signature.examples) {
      WholeTensors inputs;
      CHECK(try_sample(model_of(kind, example, true, inputs), inputs, processes, 7) > 0);
    }
  }
}

TEST_CASE("operations in bf16 on ranks") {
  Processes& processes = test_processes();
  for (const char* kind : {"einsum", "gather", "scatter_add", "reduce_max", "layer_norm", "softmax"}) {
    const Signature& signature = *find_signature(kind);
    for (const Example& example : signature.examples) {
      WholeTensors inputs;
      const Model model = model_of(kind, with_floats(example, DType::kBF16), true, inputs);
      CHECK(try_sample(model, inputs, processes, 7) > 0);
    }
  }
}

}  // namespace
}  // namespace mtfc::every_layout_mpi_test
