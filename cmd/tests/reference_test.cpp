// Compares the bundled models with an independent computation (scripts/make_reference.py), under several
// layouts.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/testing/checkout.h"
#include "core/testing/scratch_folder.h"
#include "formats/data/npy.h"

namespace mtfc::reference_test {
namespace {

using Json = nlohmann::json;

double largest_difference(const std::string& expected_file, const std::string& found_file) {
  const StoredArray expected = read_npy(expected_file), found = read_npy(found_file);
  REQUIRE(expected.shape == found.shape);
  REQUIRE(found.type == StoredType::kF32);
  int64_t count = 1;
  for (const int64_t size : expected.shape) count *= size;
  double largest = 0;
  for (int64_t i = 0; i < count; ++i) {
    float a, b;
    std::memcpy(&a, expected.data + 4 * i, 4);
    std::memcpy(&b, found.data + 4 * i, 4);
    largest = std::max(largest, static_cast<double>(std::abs(a - b)));
  }
  return largest;
}

void check_model(const std::string& name, const std::vector<std::string>& layouts) {
  const std::string data = std::string(kSourceFolder) + "/testdata/reference/" + name;
  const ScratchFolder folder;
  std::ifstream file(data + "/expected.json");
  const Json expected = Json::parse(file);
  std::string common =
      fmt::format("'{}' run '{}/models/{}.json' -q --steps {} --metrics '{}/log'", kTestedProgram,
                  kSourceFolder, name, expected["steps"].size(), folder.path.string());
  for (const auto& [key, value] : expected["sizes"].items())
    common += fmt::format(" --set {}={}", key, value.dump());
  for (const Json& key : expected["inputs"])
    common += fmt::format(" --input {0}='{1}/input_{0}.npy'", key.get<std::string>(), data);
  for (const Json& key : expected["variables"])
    common += fmt::format(" --load {0}='{1}/start_{0}.npy' --output {0}='{2}/{0}.npy'",
                          key.get<std::string>(), data, folder.path.string());
  for (const std::string& layout : layouts) {
    INFO(layout);
    REQUIRE(std::system((common + " " + layout).c_str()) == 0);
    std::ifstream log(folder / "log");
    std::string line;
    for (const Json& step : expected["steps"]) {
      REQUIRE(std::getline(log, line));
      const Json found = Json::parse(line);
      for (const auto& [key, value] : step.items())
        CHECK(found[key].get<double>() == doctest::Approx(value.get<double>()).epsilon(1e-5));
    }
    for (const Json& key : expected["variables"]) {
      const std::string variable = key;
      CHECK(largest_difference(data + "/end_" + variable + ".npy", folder / (variable + ".npy")) < 1e-5);
    }
  }
}

TEST_CASE("mnist equals NumPy") {
  check_model("mnist", {"", "--mesh a:2 --layout batch:a", "--mesh a:3 --layout hidden:a --simulate",
                        "--mesh a:2,b:2 --layout batch:a,hidden:b",
                        "--mesh a:2,b:3 --layout classes:a,rows:b --simulate",
                        "--mesh a:4,b:2,c:2 --layout cols:a,batch:b,hidden:c --simulate"});
}

TEST_CASE("two_layer equals NumPy") {
  check_model("two_layer", {"", "--mesh a:2 --layout batch:a", "--mesh a:8 --layout hidden:a --simulate",
                            "--mesh a:2,b:2 --layout batch:a,hidden:b", "--mesh a:3 --layout io:a --simulate",
                            "--mesh a:2,b:2,c:2 --layout batch:a,hidden:b,io:c --simulate"});
}

TEST_CASE("byte_mlp equals NumPy") {
  const std::string layouts = std::string(kSourceFolder) + "/models/layouts/";
  check_model("byte_mlp", {"", "--layout '" + layouts + "data_parallel.json'",
                           "--layout '" + layouts + "byte_mlp_model_parallel.json'",
                           "--layout '" + layouts + "byte_mlp_both.json'",
                           "--mesh a:2,b:3 --layout vocab:a,length:b --simulate",
                           "--mesh a:3,b:2 --layout d_model:a,batch:b --simulate"});
}

}  // namespace
}  // namespace mtfc::reference_test
