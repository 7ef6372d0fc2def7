// Trainings whose numbers are not finite any more: they stop, name the cause, and leave the last good checkpoint.

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cmd/testing/shell.h"
#include "core/testing/checkout.h"
#include "core/testing/scratch_folder.h"

namespace mtfc::not_finite_test {
namespace {

namespace fs = std::filesystem;

// The counter makes the third step take the logarithm of -1 if `at_three` is 1. The square root of `z`, which is 0,
// has an infinite gradient from the second step on if `slope` is 1; the loss is finite then.
const char* const kModel = R"json({
  "mtfc": 1,
  "name": "tiny",
  "params": {"lr": 0.05, "at_three": 0, "slope": 0},
  "dims": {"batch": 6, "in": 5, "out": 4},
  "inputs": {"x": {"dims": ["batch", "in"]}},
  "variables": {
    "w": {"dims": ["in", "out"], "init": {"normal": 0.5}},
    "seen": {"dims": [], "dtype": "i64", "init": 0, "trainable": false},
    "z": {"dims": [], "init": 0, "when": "slope"}
  },
  "ops": [
    {"out": "y", "op": "einsum", "in": ["x", "w"], "over": "in"},
    {"out": "count", "op": "add", "in": ["seen", 1]},
    {"op": "assign", "variable": "seen", "in": "count"},
    {"out": "sign", "op": "where", "in": [{"op": "equal", "in": ["count", 3]}, -1.0, 1.0]},
    {"out": "factor", "op": "log", "in": "sign", "when": "at_three"},
    {"out": "factor", "op": "sqrt", "in": "z", "when": "slope"},
    {"out": "factor", "op": "identity", "in": "sign", "when": "not (at_three or slope)"
},
    {"out": "error", "op": "reduce_mean", "in": {"op": "square", "in": "y"}},
    {"out": "loss", "op": "add", "in": ["error", {"op": "mul", "in": [{"op": "square", "in": "factor"}, 0.1]}],
     "when": "not slope"},
    {"out": "loss", "op": "add", "in": ["error", "factor"], "when": "slope"}
  ],
  "train": {"loss": "loss", "optimizer": {"kind": "adam", "lr": "lr"}},
  "outputs": ["error"]
}
)json";

constexpr int kRows = 47, kColumns = 5;

struct Folder : ScratchFolder {
  Folder() {
    std::ofstream(path / "model.json") << kModel;
    write_rows("x.npy", -1);
    write_rows("bad.npy", 8);  // a row of the third batch for seed 0
  }
  // Rows with a NaN in row `bad`.
  void write_rows(const std::string& name, int bad) const {
    const std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (47, 5), }\n";
    std::string data = std::string("\x93NUMPY\x01\0", 8) + static_cast<char>(header.size()) + '\0' + header;
    for (int i = 0; i < kRows * kColumns; ++i) {
      const float value = i == bad * kColumns + 1 ? NAN : static_cast<float>((i * 37) % 101) / 50 - 1;
      data.append(reinterpret_cast<const char*>(&value), sizeof value);
    }
    std::ofstream(path / name, std::ios::binary) << data;
  }
  // Returns `exit N: ` and standard error.
  std::string said(const std::string& arguments) const {
    const int status = std::system(fmt::format("cd '{}'; {} run model.json -q {} 2>err </dev/null",
                                               path.string(), kTestedProgram, arguments)
                                       .c_str());
    return fmt::format("exit {}: {}", WIFEXITED(status) ? WEXITSTATUS(status) : -1, read("err"));
  }
  std::vector<std::string> checkpoints(const std::string& folder) const {
    std::vector<std::string> found;
    if (!fs::exists(path / folder)) return found;
    for (const auto& entry : fs::directory_iterator(path / folder)) found.push_back(entry.path().filename());
    std::sort(found.begin(), found.end());
    return found;
  }
  std::string weights(const std::string& checkpoint) const {
    return read(checkpoint + "/variables.safetensors");
  }
};

std::string refusal(const std::string& text) {
  return "exit 1: mtfc: error: " + text + "\n";
}

const char* const kInput =
    "the loss 'loss' is nan at step 3; the first value that is not finite: train, step 3: the input 'x' has "
    "the value nan at [batch=";
const char* const kLogarithm =
    "the loss 'loss' is nan at step 3; the first value that is not finite: train, step 3: /ops/4 (log "
    "'factor'): 'factor' has the value nan";

}  // namespace

TEST_CASE("a NaN in the data ends the training, and the checkpoint of the step before stays") {
  for (const char* mesh : {"", "--mesh a:2,b:2 --layout batch:a,out:b --simulate",
                           "--mesh a:2 --layout batch:a", "--mesh a:3 --layout out:a"}) {
    CAPTURE(mesh);
    const Folder folder;
    const std::string said = folder.said(
        fmt::format("--input x=bad.npy --steps 60 --checkpoint ck --every 1 --keep 1 --metrics log "
                    "--output w=w.npy --report report.json {}",
                    mesh));
    CHECK(said.starts_with("exit 1: "));
    CHECK(said.find(kInput) != std::string::npos);
    CHECK(said.find("(the last checkpoint is 'ck/step_00000002'; --nan-ok goes on all the same)\n") !=
          std::string::npos);
    CHECK(folder.checkpoints("ck") == std::vector<std::string>{"step_00000002"});
    CHECK_FALSE(fs::exists(folder / "w.npy"));
    CHECK_FALSE(fs::exists(folder / "report.json"));
    // The same steps without those that follow, and a log that ends with the step at which the run stopped.
    CHECK(folder.said(fmt::format("--input x=bad.npy --steps 2 --checkpoint short {}", mesh)) == "exit 0: ");
    CHECK(folder.weights("ck/step_00000002") == folder.weights("short/step_00000002"));
    std::ifstream log(folder / "log");
    std::vector<nlohmann::json> lines;
    for (std::string line; std::getline(log, line);) lines.push_back(nlohmann::json::parse(line));
    REQUIRE(lines.size() == 3);
    CHECK(lines[1]["loss"].is_number());  // reported though the model does not list it
    CHECK(lines[2]["loss"].is_null());
    // Once the data are mended the run goes on from there.
    CHECK(folder.said(fmt::format("--input x=x.npy --steps 4 --checkpoint ck --resume {}", mesh)) ==
          "exit 0: ");
    CHECK(folder.checkpoints("ck") == std::vector<std::string>{"step_00000002", "step_00000004"});
  }
}

TEST_CASE("the operation is found from a checkpoint as from the beginning") {
  const Folder folder;
  const std::string run = "--input x=x.npy --set at_three=1 --steps 9";
  CHECK(folder.said(run) == refusal(kLogarithm + std::string(" (--nan-ok goes on all the same)")));
  CHECK(folder.said(run + " --checkpoint ck --every 2") ==
        refusal(kLogarithm +
                std::string(" (the last checkpoint is 'ck/step_00000002'; --nan-ok goes on all the same)")));
  CHECK(folder.said(run + " --checkpoint ck --resume") ==
        refusal(kLogarithm +
                std::string(" (the last checkpoint is 'ck/step_00000002'; --nan-ok goes on all the same)")));
  CHECK(folder.said(run + " --set batch=8 --microbatches 2").find("step 3: /ops/4 (log 'factor')") !=
        std::string::npos);
}

TEST_CASE("variables that are not finite are not saved, though the loss still is finite") {
  const Folder folder;
  // Adam's update of z divides infinity by infinity in the first step, whose loss is finite.
  for (const char* mesh : {"", "--mesh a:2 --layout batch:a"}) {
    CAPTURE(mesh);
    const std::string run = fmt::format("--input x=x.npy --set slope=1 {} ", mesh);
    for (const char* options :
         {"--steps 1 --checkpoint ck", "--steps 1 --output w=w.npy", "--steps 5 --checkpoint ck --every 1"}) {
      CAPTURE(options);
      const std::string said = folder.said(run + options);
      CHECK(said.starts_with("exit 1: "));
      CHECK(said.find("the variable 'z' has the value nan at step 1; the first value that is not finite: "
                      "train, step 1: ") != std::string::npos);
      CHECK(folder.checkpoints("ck").empty());
      CHECK_FALSE(fs::exists(folder / "w.npy"));
    }
    CHECK(folder.said(run + "--steps 5").starts_with("exit 1: mtfc: error: "));
  }
}

TEST_CASE("--nan-ok goes on and saves") {
  const Folder folder;
  CHECK(folder.said("--input x=bad.npy --steps 5 --checkpoint ck --every 1 --keep 2 --nan-ok") == "exit 0: ");
  CHECK(folder.checkpoints("ck") == std::vector<std::string>{"step_00000004", "step_00000005"});
  CHECK(folder.said("--input x=bad.npy --nan-ok --check-finite") ==
        "exit 2: mtfc: error: --check-finite stops at the first NaN or infinity, but --nan-ok goes on (leave "
        "out one of them)\n");
  // A run that begins with such values ends in its first step and says so.
  CHECK(folder.said("--input x=x.npy --load ck")
            .find("at step 1; it began with a value that is not finite: the "
                  "variable 'w' has the value nan at [in=") != std::string::npos);
  CHECK(folder.said("--input x=x.npy --load ck --steps 0 --checkpoint ck2")
            .find("(--nan-ok saves it all the same)") != std::string::npos);
  CHECK(folder.checkpoints("ck2").empty());
}

// Sums of parts that overflow with both signs: inf - inf, which is a NaN with the sign bit on x86.
TEST_CASE("a NaN is printed without its sign, which means nothing") {
  const ScratchFolder folder;
  folder.write("model.json", R"({"mtfc": 1, "name": "partial_overflow", "dims": {"n": 4},
    "inputs": {"x": {"dims": ["n"]}, "y": {"dims": ["n"]}},
    "ops": [{"out": "product", "op": "reduce_prod", "in": "x"}, {"out": "sum", "op": "reduce_sum", "in": "y"}],
    "outputs": ["product", "sum"]})");
  const auto write = [&](const std::string& name, const std::vector<float>& values) {
    const std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (4,), }";
    std::string bytes = std::string("\x93NUMPY\x01\0", 8) + static_cast<char>(header.size()) + '\0' + header;
    bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
    folder.write(name, bytes);
  };
  write("x.npy", {1e-30F, 1e-30F, 1e30F, 1e30F});
  write("y.npy", {2e38F, 2e38F, -2e38F, -2e38F});
  const Outcome outcome = outcome_of(
      fmt::format("cd '{}' && '{}' run model.json --evaluate --simulate --input x=x.npy --input y=y.npy "
                  "--mesh p:2 --layout n:p 2>/dev/null",
                  folder.path.string(), kTestedProgram));
  CHECK(outcome.code == 0);
  CHECK(outcome.text == "product nan  sum nan\n");
}

}  // namespace mtfc::not_finite_test
