// Commands within a limit of addresses, as clusters and shared machines set it (`ulimit -v`).

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/wait.h>

#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include "core/testing/checkout.h"
#include "core/testing/scratch_folder.h"
#include "core/testing/text.h"

namespace mtfc::address_limit_test {
namespace {

constexpr int kLittle = 300'000, kEnough = 2'000'000;  // KiB of addresses, without and with OpenBLAS

struct Outcome {
  int code = -1;
  std::string out, err;
};

Outcome within(int limit, const std::string& arguments) {
  const ScratchFolder folder;
  const std::string line =
      fmt::format("cd '{}' && ulimit -v {} && $HANG_GUARD '{}' {} >'{}' 2>'{}' </dev/null", kSourceFolder,
                  limit, kTestedProgram, arguments, folder / "out", folder / "err");
  const int status = std::system(line.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, contents(folder / "out"), contents(folder / "err")};
}

// The names of all commands, from the script that completes them.
std::vector<std::string> commands() {
  const std::string script = within(kLittle, "completion bash").out, start = "_mtfc_commands=";
  const size_t at = script.find(start);
  REQUIRE(at != std::string::npos);
  std::string line = script.substr(at + start.size(), script.find('\n', at) - at - start.size());
  std::erase(line, '\'');
  std::istringstream names(line);
  std::vector<std::string> found;
  for (std::string name; names >> name;) found.push_back(name);
  return found;
}

}  // namespace

TEST_CASE("every command gives its help within 300 MB of addresses") {
  const std::vector<std::string> all = commands();
  CHECK(all.size() >= 18);
  for (const std::string& command : all) {
    CAPTURE(command);
    CHECK(within(kLittle, command + " --help").code == 0);
  }
}

TEST_CASE("commands that need no products work within 300 MB of addresses") {
  const std::string model = "models/mnist.json", layout = " --mesh a:2 --layout batch:a";
  for (const std::string& arguments :
       {std::string("--version"), std::string("--help"), "check " + model, "compile " + model + layout,
        "cost-report " + model + layout, "diff " + model + " batch:a hidden:a --mesh a:2",
        "explain " + model + layout, "show " + model, "search " + model + " --devices 4 -q",
        std::string("ops einsum"), std::string("schema model"), std::string("man"),
        std::string("help layout"), std::string("completion bash"),
        "slurm " + model + layout + " --nodes 2 --time 30:00 --checkpoint ck"}) {
    CAPTURE(arguments);
    const Outcome outcome = within(kLittle, arguments);
    CAPTURE(outcome.err);
    CHECK(outcome.code == 0);
  }
}

TEST_CASE("a run that needs products says which limit is too low for them") {
  for (const char* arguments : {"run models/mnist.json --steps 1 --threads 1",
                                "verify models/mnist.json --mesh a:2 --layout batch:a"}) {
    CAPTURE(arguments);
    const Outcome outcome = within(kLittle, arguments);
    CHECK(outcome.code == 1);
    CHECK(has(outcome.err,
              "matrix products by OpenBLAS need 528 MiB of addresses with one thread, and the limit of "
              "this process leaves fewer"));
  }
  const Outcome enough = within(kEnough, "run models/mnist.json --steps 1 --threads 1");
  CAPTURE(enough.err);
  CHECK(enough.code == 0);
}

}  // namespace mtfc::address_limit_test
