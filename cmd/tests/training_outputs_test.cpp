// Tensors that only training makes, as outputs of a model.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "cmd/testing/shell.h"
#include "core/testing/checkout.h"
#include "core/testing/scratch_folder.h"

namespace mtfc::training_outputs_test {
namespace {

using Json = nlohmann::ordered_json;

// loss = the mean over the batch of the sum over a of x * w, and x is 1: the gradient of w is 1 everywhere, and
// its norm 2.
const char* const kModel = R"({
  "mtfc": 1,
  "dims": {"batch": 6, "a": 4},
  "inputs": {"n": {"dims": ["batch", "a"], "dtype": "i32"}},
  "variables": {"w": {"dims": ["a"], "init": 1}, "b": {"dims": [], "init": 3}},
  "ops": [
    {"out": "x", "op": "cast", "in": "n", "dtype": "f32"},
    {"out": "y", "op": "einsum", "in": ["x", "w"], "dims": ["batch"]},
    {"out": "loss", "op": "reduce_mean", "in": {"op": "add", "in": ["y", {"op": "mul", "in": ["b", 0]}]}}
  ],
  "train": {
    "loss": "loss",
    "clip_norm": 0.5,
    "optimizer": {"kind": "adam", "lr": {"schedule": "linear", "peak": 0.5, "warmup": 2, "steps": 6}}
  },
  "outputs": ["train/lr", "loss", "b/grad", "train/step", "train/grad_norm", "b/adam_m"],
  "data": {"n": "random:int,lo=1,hi=2"}
})";

std::vector<Json> lines_of(const ScratchFolder& folder, const std::string& arguments) {
  const auto [code, text] =
      outcome_of(fmt::format("cd '{}' && '{}' run model.json -q --metrics - {} 2>&1 </dev/null",
                             folder.path.string(), kTestedProgram, arguments));
  CAPTURE(text);
  REQUIRE(code == 0);
  std::vector<Json> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(Json::parse(line));
  return lines;
}

// The loss is the sum of the squares of w, without any data: the gradient of w is 2 w.
std::string squares_with(const std::string& outputs) {
  return R"({
    "mtfc": 1,
    "dims": {"a": 4},
    "variables": {"w": {"dims": ["a"], "init": 1.5}},
    "ops": [{"out": "loss", "op": "reduce_sum", "in": {"op": "square", "in": "w"}}],
    "train": {"loss": "loss", "optimizer": {"kind": "sgd", "lr": 0.25}},
    "outputs": )" +
         outputs + "}";
}

}  // namespace

TEST_CASE("the learning rate, the step, the norm and gradients are outputs of training") {
  const ScratchFolder folder;
  folder.write("model.json", kModel);
  // Half the peak, the peak, then down to 0 in step 6.
  const std::vector<double> rates = {0.25, 0.5, 0.375, 0.25, 0.125, 0};
  for (const char* options :
       {"", "--mesh p:2 --layout batch:p --simulate", "--mesh p:2,q:3 --layout a:p,batch:q --simulate",
        "--microbatches 3", "--mesh p:2 --layout batch:p", "--dtype f64"}) {
    CAPTURE(options);
    const std::vector<Json> lines = lines_of(folder, fmt::format("--steps 6 {}", options));
    REQUIRE(lines.size() == 6);
    for (size_t i = 0; i < 6; ++i) {
      CHECK(lines[i]["train/lr"].get<double>() == doctest::Approx(rates[i]));
      CHECK(lines[i]["train/step"].get<double>() == static_cast<double>(i + 1));
      CHECK(lines[i]["train/grad_norm"].get<double>() == doctest::Approx(2));  // before clipping
      CHECK(lines[i]["b/grad"].get<double>() == 0);
      CHECK(lines[i]["b/adam_m"].get<double>() == 0);
    }
    // In the order of the model, among the model's own.
    std::vector<std::string> names;
    for (const auto& [name, value] : lines[0].items())
      if (name.find('/') != std::string::npos || name == "loss") names.push_back(name);
    CHECK(names == std::vector<std::string>{"train/lr", "loss", "b/grad", "train/step", "train/grad_norm",
                                            "b/adam_m"});
  }
  // They do not exist in an evaluation, which gives the rest.
  const std::vector<Json> evaluated = lines_of(folder, "--evaluate");
  REQUIRE(evaluated.size() == 1);
  CHECK(evaluated[0].contains("loss"));
  CHECK_FALSE(evaluated[0].contains("train/lr"));
  CHECK_FALSE(evaluated[0].contains("b/grad"));
}

TEST_CASE("the rate is an output where it is constant, and the norm where nothing is clipped") {
  const ScratchFolder folder;
  folder.write("model.json", squares_with(R"(["train/grad_norm", "train/lr"])"));
  for (const char* options : {"", "--mesh p:2 --layout a:p --simulate"}) {
    // The gradient is 2 w, its norm 4 w, and a step makes w half as large.
    const std::vector<Json> lines = lines_of(folder, fmt::format("--steps 3 {}", options));
    REQUIRE(lines.size() == 3);
    for (size_t i = 0; i < 3; ++i) {
      CHECK(lines[i]["train/lr"].get<double>() == 0.25);
      CHECK(lines[i]["train/grad_norm"].get<double>() ==
            doctest::Approx(6 * std::pow(0.5, static_cast<double>(i))));
    }
  }
}

TEST_CASE("--output writes them, whether or not the model lists them") {
  const ScratchFolder folder;
  folder.write("model.json", squares_with(R"(["loss", "w/grad"])"));
  lines_of(folder, "--output w/grad=grad.npy --output train/lr=lr.npy --output train/grad_norm=norm.npy");
  const auto last = [&](const char* file, auto value) {
    const std::string bytes = folder.read(file);
    std::memcpy(&value, bytes.data() + bytes.size() - sizeof value, sizeof value);
    return static_cast<double>(value);
  };
  CHECK(last("grad.npy", float{}) == 3);
  CHECK(last("lr.npy", double{}) == 0.25);
  CHECK(last("norm.npy", double{}) == 6);
}

}  // namespace mtfc::training_outputs_test
