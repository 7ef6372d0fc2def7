#include "cmd/testing/training_folder.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "core/testing/checkout.h"

namespace mtfc {

namespace fs = std::filesystem;

const char* const kTrainingModel = R"({
  "mtfc": 1,
  "name": "tiny",
  "params": {"lr": 0.05, "extra": 0},
  "dims": {"batch": 6, "in": 5, "hidden": 7, "heads": 2},
  "inputs": {"x": {"dims": ["batch", "in"]}},
  "variables": {
    "w": {"dims": ["in", "hidden"], "init": {"normal": 0.5}},
    "h/v": {"dims": ["hidden", "heads"], "init": {"normal": 0.5}},
    "bias": {"dims": [], "init": 0.5},
    "more": {"dims": ["heads"], "init": 1, "when": "extra"},
    "seen": {"dims": ["batch"], "dtype": "i64", "init": 0, "trainable": false},
    "big": {"dims": ["heads"], "dtype": "bool", "init": 0, "trainable": false}
  },
  "ops": [
    {"out": "a", "op": "dropout", "in": {"op": "tanh", "in": {"op": "einsum", "in": ["x", "w"], "over": "in"}}, "rate": 0.3},
    {"out": "y", "op": "add", "in": [{"op": "einsum", "in": ["a", "h/v"], "over": "hidden"}, "bias"]},
    {"out": "loss", "op": "reduce_mean", "in": {"op": "square", "in": "y"}},
    {"op": "assign", "variable": "seen", "in": {"op": "add", "in": ["seen", 1]}},
    {"op": "assign", "variable": "big", "in": {"op": "greater", "in": [{"op": "reduce_sum", "in": "y", "over": "batch"}, 0]}}
  ],
  "train": {"loss": "loss", "optimizer": {"kind": "adamw", "lr": {"schedule": "cosine", "peak": "lr", "warmup": 3, "steps": 20}}},
  "outputs": ["loss"]
}
)";

const std::vector<std::string> kTrainingMeshes = {
    "", "--mesh a:2,b:2 --layout batch:a,hidden:b --simulate", "--mesh a:3 --layout heads:a,in:a --simulate",
    "--mesh a:2 --layout hidden:a", "--mesh a:2,b:2 --layout batch:a,heads:b"};

TrainingFolder::TrainingFolder() {
  std::ofstream(path / "model.json") << kTrainingModel;
  const std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (47, 5), }\n";
  std::string data = std::string("\x93NUMPY\x01\0", 8) + static_cast<char>(header.size()) + '\0' + header;
  for (int i = 0; i < 47 * 5; ++i) {
    const float value = static_cast<float>((i * 37) % 101) / 50 - 1;
    data.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  std::ofstream(path / "x.npy", std::ios::binary) << data;
}

std::string TrainingFolder::said(const std::string& command) const {
  const std::string run = fmt::format("{} run model.json -q --input x=x.npy", kTestedProgram);
  const int status = std::system(fmt::format("cd '{}'; MTFC='{}'; RUN=\"{}\"; ({}) 2>err </dev/null",
                                             path.string(), kTestedProgram, run, command)
                                     .c_str());
  const std::string text = read("err");
  fs::remove(path / "err");
  return fmt::format("exit {}: {}", WIFEXITED(status) ? WEXITSTATUS(status) : -1, text);
}

std::vector<std::string> TrainingFolder::names(const std::string& folder) const {
  std::vector<std::string> found;
  for (const auto& entry : fs::directory_iterator(path / folder)) found.push_back(entry.path().filename());
  std::sort(found.begin(), found.end());
  return found;
}

std::string TrainingFolder::weights(const std::string& checkpoint) const {
  return read(checkpoint + "/variables.safetensors");
}

std::string elements_of(const StoredArray& array) {
  int64_t bytes = size_of(array.type);
  for (const int64_t size : array.shape) bytes *= size;
  return {reinterpret_cast<const char*>(array.data), static_cast<size_t>(bytes)};
}

std::string refusal(const std::string& text) {
  return "exit 1: mtfc: error: " + text + "\n";
}
std::string mistake(const std::string& text) {
  return "exit 2: mtfc: error: " + text + "\n";
}

}  // namespace mtfc
