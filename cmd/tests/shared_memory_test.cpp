// Runs whose ranks share memory, share none, or are on simulated nodes: the same losses, and a message if
// memory is short.

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "core/testing/scratch_folder.h"

namespace mtfc::shared_memory_test {
namespace {

struct Outcome {
  int code = -1;
  std::string err;
  double loss = 0;
};

// `before` precedes the command in a shell.
Outcome run(const std::string& options, const std::string& before = "") {
  const ScratchFolder folder;
  const std::string command =
      fmt::format("{} '{}' run '{}/models/mnist.json' --steps 3 --metrics {} {} >{} 2>{} </dev/null", before,
                  MTFC_BINARY, MTFC_SOURCE_DIR, folder / "m", options, folder / "out", folder / "err");
  Outcome outcome;
  const int status = std::system(command.c_str());
  outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  outcome.err = folder.read("err");
  std::ifstream metrics(folder / "m");
  for (std::string line; std::getline(metrics, line);) outcome.loss = nlohmann::json::parse(line)["loss"];
  return outcome;
}

const std::string kPair = "--mesh a:2 --layout batch:a --set hidden=100 ";

TEST_CASE("losses are the same whether ranks share memory or not") {
  const std::string layout = "--mesh a:2,b:2 --layout batch:a,hidden:b --set hidden=100 ";
  const double expected = run("--set hidden=100").loss;
  for (const std::string& options :
       {std::string(""), std::string("--shared-memory 0"), std::string("--ranks-per-node 1"),
        std::string("--ranks-per-node 2"), std::string("--ranks-per-node 3")}) {
    const Outcome outcome = run(layout + options);
    INFO(options, " ", outcome.err);
    CHECK(outcome.code == 0);
    CHECK(outcome.loss == doctest::Approx(expected).epsilon(1e-4));
    CHECK(outcome.err.find("warning") == std::string::npos);
  }
}

TEST_CASE("where shared memory is short, messages take its place, and one rank says so") {
  const Outcome plenty = run(kPair), little = run(kPair + "--shared-memory 100000");
  CHECK(plenty.err.find("warning") == std::string::npos);
  CHECK(little.code == 0);
  CHECK(little.loss == doctest::Approx(plenty.loss).epsilon(1e-4));
  const std::string warning = "mtfc: warning: the ranks of a node share no memory and exchange messages";
  CHECK(little.err.find(warning) != std::string::npos);
  CHECK(little.err.find(warning) == little.err.rfind(warning));
}

// Runs in a mount namespace of its own, if the system allows one.
TEST_CASE("a small /dev/shm ends no run") {
  const std::string mount = "unshare -rm sh -c 'mount -t tmpfs -o size=64m tmpfs /dev/shm";
  if (std::system((mount + "' 2>/dev/null").c_str()) != 0) {
    MESSAGE("skipped: no mount namespaces here");
    return;
  }
  const Outcome outcome =
      run("--mesh a:2 --layout batch:a --set hidden=20000", mount + " && exec \"$@\"' mtfc");
  INFO(outcome.err);
  CHECK(outcome.code == 0);
  CHECK(outcome.err.find("/dev/shm") != std::string::npos);
}

}  // namespace
}  // namespace mtfc::shared_memory_test
