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

#include "core/testing/checkout.h"
#include "core/testing/scratch_folder.h"
#include "core/testing/skip.h"

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
                  kTestedProgram, kSourceFolder, folder / "m", options, folder / "out", folder / "err");
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

// Runs in mount namespaces of their own, if the system allows them.
TEST_CASE("a small /dev/shm ends no run") {
  const auto mount = [](const std::string& size) {
    return fmt::format("unshare -rm sh -c 'mount -t tmpfs -o size={} tmpfs /dev/shm", size);
  };
  if (std::system((mount("64m") + "' 2>/dev/null").c_str()) != 0)
    return skip_without("namespaces", "no run has a small /dev/shm");
  struct Case {
    std::string size, options;
  };
  for (const auto& [size, options] :
       {Case{"64m", "--mesh a:2 --layout batch:a --set hidden=20000"}, Case{"8m", kPair}, Case{"1m", kPair},
        Case{"1m", kPair + "--shared-memory 0"}, Case{"64m", "--mesh a:16 --layout batch:a"}}) {
    const Outcome outcome = run(options, mount(size) + " && exec \"$@\"' mtfc");
    INFO(size, ": ", options, "\n", outcome.err);
    CHECK(outcome.code == 0);
    // Hidden layers of 100 units fit into 8 MB, beside no messages.
    const bool is_short = size != "8m" && !options.ends_with(" 0");
    CHECK((outcome.err.find("/dev/shm") != std::string::npos) == is_short);
    CHECK(outcome.err.find("UCX") == std::string::npos);
  }
  // Nothing can be sent with less.
  const Outcome none = run(kPair + "--shared-memory 0", mount("8k") + " && exec \"$@\"' mtfc");
  CHECK(none.code == 1);
  CHECK(none.err ==
        "mtfc: error: /dev/shm has 8192 bytes of free memory, but MPI needs 65536 to start several ranks on "
        "a node\n");
}

TEST_CASE("ranks of one machine whose host names differ, as in containers, form one node") {
  if (std::system("unshare -u true 2>/dev/null") != 0)
    return skip_without("namespaces", "no ranks have other names of their host");
  const ScratchFolder folder;
  const std::string rank = fmt::format(
      "sh -c 'hostname $0; exec \"$@\"' $NAME '{}' run '{}/models/mnist.json' -q --steps 20 --mesh a:4 "
      "--layout batch:a --set hidden=100",
      kTestedProgram, kSourceFolder);
  // Three of them would share two cores, and one would have them for itself.
  const std::string three = std::string(rank).replace(rank.find("$NAME"), 5, "one"),
                    last = std::string(rank).replace(rank.find("$NAME"), 5, "two");
  const int status = std::system(
      fmt::format("taskset -c 0 $HANG_GUARD $(command -v mpiexec.mpich || echo mpiexec) -n 3 unshare -u {} : "
                  "-n 1 unshare -u {} >{} 2>&1 </dev/null",
                  three, last, folder / "out")
          .c_str());
  INFO(folder.read("out"));
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}

}  // namespace
}  // namespace mtfc::shared_memory_test
