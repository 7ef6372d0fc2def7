// Data files that are cut off while a run reads them.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>

#include "cmd/testing/running_command.h"
#include "core/testing/scratch_folder.h"

namespace mtfc::lost_files_test {
namespace {

namespace fs = std::filesystem;

// Each step takes some time, and reads rows from all of the file.
const char* const kModel = R"({"mtfc": 1, "name": "m", "dims": {"batch": 64, "in": 512, "out": 512},
  "inputs": {"x": {"dims": ["batch", "in"]}}, "variables": {"w": {"dims": ["in", "out"], "init": 1}},
  "ops": [{"out": "loss", "op": "reduce_mean", "in": {"op": "einsum", "in": ["x", "w"], "over": "in"}}],
  "train": {"loss": "loss", "optimizer": {"kind": "sgd", "lr": 0.001}}})";

void write_rows(const fs::path& path) {
  const std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (4096, 512), }\n";
  std::ofstream(path, std::ios::binary)
      << std::string("\x93NUMPY\x01\0", 8) << static_cast<char>(header.size()) << '\0' << header
      << std::string(4096 * 512 * sizeof(float), '\0');
}

}  // namespace

TEST_CASE("a data file that is cut off ends the run with one line") {
  const std::string run =
      "$MTFC run model.json -q --threads 1 --input x=x.npy --steps 100000000 --metrics log";
  for (const std::string& command :
       {run, run + " --mesh a:2 --layout batch:a", "mpiexec.mpich -n 2 " + run + " --mesh a:2 --layout in:a",
        run + " --valid x=x.npy --valid-every 1"}) {
    CAPTURE(command);
    const ScratchFolder folder;
    folder.write("model.json", kModel);
    write_rows(folder.path / "x.npy");
    RunningCommand running(folder, command);
    REQUIRE(eventually([&] { return running.ended() || !folder.read("log").empty(); }));
    fs::resize_file(folder.path / "x.npy", 4096);
    CHECK(running.exit_code() == 1);
    CHECK(folder.read("err") == "mtfc: error: 'x.npy' has become shorter while it was read\n");
  }
}

TEST_CASE("any other bus error has its effect as before") {
  const ScratchFolder folder;
  folder.write("model.json", kModel);
  write_rows(folder.path / "x.npy");
  RunningCommand running(folder, "$MTFC run model.json -q --input x=x.npy --steps 100000000 --metrics log");
  REQUIRE(eventually([&] { return running.ended() || !folder.read("log").empty(); }));
  running.send(SIGBUS);
  CHECK(running.exit_code() == -1);
  CHECK(folder.read("err").find("x.npy") == std::string::npos);
}

}  // namespace mtfc::lost_files_test
