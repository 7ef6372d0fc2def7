// `mtfc calibrate` as people use it: the profile that it writes is one that reports can be for.

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "core/testing/scratch_folder.h"
#include "formats/hardware/hardware_reader.h"

namespace mtfc {
namespace {

using Json = nlohmann::json;

// `exit N: ` and what the shell's `command` says on standard error; $MTFC is the program.
std::string said(const ScratchFolder& folder, const std::string& command) {
  const int status = std::system(
      fmt::format("cd '{}'; MTFC='{}'; ({}) 2>err </dev/null", folder.path.string(), MTFC_BINARY, command)
          .c_str());
  return fmt::format("exit {}: {}", WIFEXITED(status) ? WEXITSTATUS(status) : -1, folder.read("err"));
}

void check_rates(const Link& link) {
  CHECK(link.latency_s >= 0);
  for (const auto& [bytes, rate] : link.bytes_per_s.points()) CHECK(rate > 0);
}

}  // namespace

TEST_CASE("calibration writes a profile that cost-report takes, of one rank and of two") {
  const ScratchFolder folder;
  REQUIRE(said(folder, "$MTFC calibrate --quick -q -o one.json --name box") == "exit 0: ");
  // The axis of size 1 has no collectives to measure, and still has a name that layouts may use.
  REQUIRE(said(folder, "$MTFC calibrate --quick --mesh rows:2,cols:1 -o two.json")
              .starts_with("exit 0: measured in "));
  CHECK(read_hardware(folder.read("one.json"), "one.json").name == "box");
  const Hardware two = read_hardware(folder.read("two.json"), "two.json");
  CHECK(two.flops.at("f32") > 1e8);
  CHECK(two.memory_bytes > 1e6);
  CHECK(two.memory_bandwidth.most() > 1e6);
  for (const auto& axis : two.axes) {
    CAPTURE(axis.first);
    check_rates(axis.second);
  }
  const std::string report =
      fmt::format("$MTFC cost-report '{}/models/mnist.json' --format json -o report ", MTFC_SOURCE_DIR);
  for (const char* use :
       {"--hardware one.json", "--hardware two.json --mesh rows:2,cols:1 --layout batch:rows",
        "--hardware two.json --mesh all:4 --layout hidden:all"}) {
    CAPTURE(use);
    CHECK(said(folder, report + use) == "exit 0: ");
    const Json time = Json::parse(folder.read("report"))["time"];
    CHECK(time["step_s"].get<double>() > 0);
    CHECK(time["step_s"].get<double>() < 60);
  }
}

TEST_CASE("calibration that is interrupted, or can't begin, leaves no file") {
  const ScratchFolder folder;
  // As soon as the program, no longer the shell that starts it, catches the signal.
  CHECK(said(folder,
             "$MTFC calibrate -q -o box.json & run=$!; for i in $(seq 400); do readlink /proc/$run/exe | "
             "grep -q "
             "'mtfc$' && grep -q 'SigCgt.*[2367abef]$' /proc/$run/status && break; sleep 0.05; done; "
             "kill -INT $run; wait $run") == "exit 1: mtfc: error: calibration was interrupted\n");
  // Ranks that have not begun to measure yet end by the signal.
  const std::string ranks =
      said(folder, "$MTFC calibrate -q --mesh a:2 -o box.json & run=$!; sleep 2; kill -INT $run; wait $run");
  CHECK(ranks.starts_with("exit 1: mtfc: error: "));
  CHECK(said(folder, "$MTFC calibrate -q -o nowhere/box.json")
            .starts_with("exit 1: mtfc: error: cannot write "));
  CHECK(said(folder, "mpiexec.mpich -n 2 $MTFC calibrate --mesh a:3 -o box.json") ==
        "exit 2: mtfc: error: the mesh a:3 has 3 devices, and there are 2 ranks (start it with mpiexec -n "
        "3)\n");
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path), {}) == 1);  // err
}

}  // namespace mtfc
