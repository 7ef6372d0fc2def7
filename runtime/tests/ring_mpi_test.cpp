// Products in turns on real ranks: by messages, and through memory that the ranks of a node share.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "core/compile/pipeline.h"
#include "core/graph/op_registry.h"
#include "runtime/comm/mpi/comm_mpi.h"
#include "runtime/testing/reference.h"
#include "runtime/testing/ring_cases.h"
#include "scripts/mpi_test_main.h"

namespace mtfc::ring_mpi_test {
namespace {

constexpr uint64_t kDrawn = 12;

void try_all(NodeMemory& node) {
  Processes& processes = test_processes();
  if (processes.size() == 1) return;
  std::vector<Mesh> meshes = {Mesh({{"p", processes.size()}})};
  if (processes.size() == 4) meshes.push_back(Mesh({{"p", 2}, {"q", 2}}));
  std::map<std::string, int64_t> forms;
  for (const Example& example : find_signature("einsum")->examples) {
    if (example.operands.size() != 2) continue;
    WholeTensors inputs;
    const Model model = model_of("einsum", example, false, inputs);
    const WholeTensors expected = reference_outputs(model, inputs);
    for (const Mesh& mesh : meshes) {
      MpiComm comm(mesh, processes, node);
      for (uint64_t seed = 0; seed < kDrawn; ++seed) {
        const Program program = compile(model, drawn_ring_layout(model, mesh, seed), {});
        count_rings(program, *program.find("evaluate"), forms);
        INFO(fmt::format("{} mesh {} seed {}", to_string(model.dims), to_string(mesh), seed));
        CHECK(run_and_compare(program, comm, inputs, expected) == "");
      }
    }
  }
  for (const char* form : {"joins", "adds", "passes"}) {
    CAPTURE(form);
    CHECK(forms[form] > 0);
  }
}

TEST_CASE("products in turns inside a node") {
  try_all(test_node());
}

TEST_CASE("products in turns by messages") {
  try_all(test_node(1));
}

TEST_CASE("products in turns between and inside nodes") {
  if (test_processes().size() == 4) try_all(test_node(2));
}

}  // namespace
}  // namespace mtfc::ring_mpi_test
