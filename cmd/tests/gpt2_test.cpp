// Compares models/gpt2.json and weights of the published names with PyTorch (scripts/make_gpt2_reference.py):
// logits, loss and steps of training, under several layouts.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/testing/checkout.h"
#include "core/testing/scratch_folder.h"
#include "formats/data/npy.h"

namespace mtfc::gpt2_test {
namespace {

using Json = nlohmann::json;

const std::string kReference = std::string(kSourceFolder) + "/testdata/gpt2/";
const std::string kModels = std::string(kSourceFolder) + "/models/";

Json expected() {
  return Json::parse(std::ifstream(kReference + "expected.json"));
}

// Runs the model in the reference's sizes, with its weights and data, and `arguments`.
void run(const std::string& arguments) {
  std::string sets;
  const Json sizes = expected()["sets"];
  for (const auto& [name, value] : sizes.items()) sets += fmt::format(" --set {}={}", name, value.dump());
  REQUIRE(std::system(fmt::format("{0} run {1}gpt2.json -q {2} --load {3}model.safetensors --input "
                                  "tokens={3}tokens.npy --input targets={3}targets.npy {4} </dev/null",
                                  kTestedProgram, kModels, sets, kReference, arguments)
                          .c_str()) == 0);
}

std::vector<double> numbers(const std::string& path) {
  const StoredArray array = read_npy(path);
  int64_t count = 1;
  for (const int64_t size : array.shape) count *= size;
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back(array.type == StoredType::kF32
                         ? static_cast<double>(reinterpret_cast<const float*>(array.data)[i])
                         : reinterpret_cast<const double*>(array.data)[i]);
  return values;
}

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  REQUIRE(a.size() == b.size());
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

struct Use {
  std::string layout;
  double tolerance;
};
const std::vector<Use> kUses = {
    {"--dtype f64", 1e-10},
    {"", 2e-5},
    {"--dtype f64 --mesh all:2 --layout batch:all --simulate", 1e-10},
    {"--dtype f64 --mesh rows:2,cols:2 --layout " + kModels + "layouts/transformer_both.json --simulate",
     1e-10},
    {"--mesh all:2 --layout " + kModels + "layouts/transformer_model_parallel.json", 2e-5},
    {"--dtype f64 --mesh a:2,b:3 --layout length:a,d_model:b --simulate", 1e-10},
    {"--dtype f64 --mesh a:3 --layout qkv:a,vocab:a,memory_length:a --simulate", 1e-10},
    {"--dtype f64 --set stored_scores=1 --set recompute_scores=1", 1e-10},
    {"--dtype f64 --set stored_scores=1 --mesh a:2,b:2 --layout memory_length:a,heads:b --simulate", 1e-10},
};

}  // namespace

TEST_CASE("GPT-2 gives the logits and the losses of PyTorch from weights of the published names") {
  const ScratchFolder folder;
  const std::vector<double> logits = numbers(kReference + "logits.npy");
  for (const Use& use : kUses) {
    CAPTURE(use.layout);
    run(fmt::format("--evaluate --output logits={} {}", folder / "logits.npy", use.layout));
    CHECK(largest_difference(numbers(folder / "logits.npy"), logits) < use.tolerance);
    run(fmt::format("--optimizer sgd --steps 3 --metrics {} {}", folder / "log", use.layout));
    std::ifstream log(folder / "log");
    size_t step = 0;
    for (std::string line; std::getline(log, line); ++step)
      CHECK(std::abs(Json::parse(line)["loss"].get<double>() - expected()["losses"][step].get<double>()) <
            use.tolerance);
    CHECK(step == 3);
  }
}

TEST_CASE("GPT-2 with heads that are normalized gives the logits of NumPy") {
  const ScratchFolder folder;
  const std::vector<double> logits = numbers(kReference + "head_norms.npy");
  for (const char* layout : {"", "--mesh a:2,b:2 --layout heads:a,d_ff:a,vocab:a,between:length:a --simulate",
                             "--set stored_scores=1 --mesh a:3 --layout length:a --simulate"}) {
    CAPTURE(layout);
    run(fmt::format("--set head_norms=1 --load-partly --dtype f64 --evaluate --output logits={} {}",
                    folder / "logits.npy", layout));
    CHECK(largest_difference(numbers(folder / "logits.npy"), logits) < 1e-10);
  }
  // Decoding gives the same, which verify compares.
  REQUIRE(
      std::system(fmt::format("{} verify {}gpt2.json -q --set head_norms=1 --set layers=2 --set d_model=32 "
                              "--set heads=4 --set positions=16 --set vocab=64 --set batch=4 --mesh "
                              "data:2,model:2 --layout megatron >{} </dev/null",
                              kTestedProgram, kModels, folder / "verified")
                      .c_str()) == 0);
}

TEST_CASE("GPT-2 goes on from a prompt with the tokens that PyTorch finds likeliest") {
  const ScratchFolder folder;
  const Json reference = expected();
  const Json& sizes = reference["sets"];
  std::string sets, prompt, all;
  for (const char* size : {"layers", "d_model", "heads", "vocab", "positions", "length"})
    sets += fmt::format(" --set {}={}", size, sizes[size].dump());
  for (const Json& token : reference["greedy"]) {
    all += fmt::format("{}{}", all.empty() ? "" : ",", token.dump());
    if (std::count(all.begin(), all.end(), ',') == 3) prompt = all;
  }
  for (const char* layout : {"", "--mesh a:2 --layout heads:a,vocab:a,d_ff:a",
                             "--mesh a:2,b:2 --layout places:a,d_model:b --simulate"}) {
    CAPTURE(layout);
    REQUIRE(std::system(fmt::format("{0} generate {1}gpt2.json -q {2} --load {3}model.safetensors "
                                    "--greedy --prompt-tokens {4} -o {5} {6} </dev/null",
                                    kTestedProgram, kModels, sets, kReference, prompt, folder / "out", layout)
                            .c_str()) == 0);
    std::ifstream file(folder / "out");
    std::string found;
    std::getline(file, found);
    CHECK(found == all);
  }
}

TEST_CASE("the published size of GPT-2 has the published number of parameters") {
  const ScratchFolder folder;
  REQUIRE(std::system(fmt::format("{} cost-report {}gpt2.json --format json -o {}", kTestedProgram, kModels,
                                  folder / "r")
                          .c_str()) == 0);
  CHECK(Json::parse(std::ifstream(folder / "r"))["layouts"][0]["parameters"]["count"] == 124439808);
}

}  // namespace mtfc::gpt2_test
