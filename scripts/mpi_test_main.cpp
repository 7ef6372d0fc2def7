// Tests that run on several ranks: every rank runs all of them, and the exit code is the worst of all ranks.

#define DOCTEST_CONFIG_IMPLEMENT
#include "scripts/mpi_test_main.h"

#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace mtfc {
namespace {

Watchdog watchdog;
std::optional<Processes> processes;
std::map<int, std::unique_ptr<NodeMemory>> nodes;

}  // namespace

Processes& test_processes() {
  return *processes;
}

NodeMemory& test_node(int ranks_per_node) {
  std::unique_ptr<NodeMemory>& node = nodes[ranks_per_node];
  NodeOptions options;
  options.ranks_per_node = ranks_per_node;
  if (!node) node = std::make_unique<NodeMemory>(*processes, options);
  return *node;
}

}  // namespace mtfc

int main(int argc, char** argv) {
  setenv("MTFC_VERIFY_PASSES", "1", 1);
  mtfc::processes.emplace(mtfc::Processes::start(mtfc::watchdog));
  doctest::Context context(argc, argv);
  const std::string prefix = "rank " + std::to_string(mtfc::processes->rank()) + ": ";
  if (!mtfc::processes->is_root()) context.setOption("quiet", true);
  const int code = context.run();
  if (code != 0) std::fprintf(stderr, "%sfailed\n", prefix.c_str());
  const int worst = static_cast<int>(mtfc::processes->maximum(code));
  mtfc::nodes.clear();
  mtfc::processes.reset();
  return worst;
}
