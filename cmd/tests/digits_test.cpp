// models/mnist.json learns real digits, with the same losses under every layout. Needs the MNIST test set in
// ../shared/data/mnist beside the checkout, or in the folder that MTFC_DATA names; without it the test is
// skipped with a message.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/testing/checkout.h"
#include "core/testing/scratch_folder.h"
#include "core/testing/skip.h"

namespace mtfc::digits_test {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

std::string data_folder() {
  const char* given = std::getenv("MTFC_DATA");
  return (given ? std::string(given) : std::string(kSourceFolder) + "/../shared/data") + "/mnist";
}

std::vector<Json> run(const std::string& model, const std::string& layout, int steps,
                      const std::string& metrics) {
  const std::string images = "images=idx:" + data_folder() + "/t10k-images-idx3-ubyte.gz,scale=1/255,rows=";
  const std::string labels = "labels=idx:" + data_folder() + "/t10k-labels-idx1-ubyte.gz,rows=";
  const std::string command = fmt::format(
      "'{}' run '{}' {} -q --steps {} --set lr=0.5 --input {}0:9000 --input {}0:9000 "
      "--valid {}9000:10000 --valid {}9000:10000 --metrics '{}'",
      kTestedProgram, model, layout, steps, images, labels, images, labels, metrics);
  REQUIRE(std::system(command.c_str()) == 0);
  std::vector<Json> lines;
  std::ifstream file(metrics);
  for (std::string line; std::getline(file, line);) lines.push_back(Json::parse(line));
  REQUIRE(lines.size() == static_cast<size_t>(steps));
  return lines;
}

// The largest relative difference between the losses.
double difference(const std::vector<Json>& expected, const std::vector<Json>& found) {
  double worst = 0;
  for (size_t step = 0; step < expected.size(); ++step) {
    const double a = expected[step]["loss"], b = found[step]["loss"];
    worst = std::max(worst, std::abs(a - b) / a);
  }
  return worst;
}

// models/mnist.json with everything in f64.
void write_in_f64(const std::string& path) {
  std::ifstream file(std::string(kSourceFolder) + "/models/mnist.json");
  Json model = Json::parse(file);
  model["inputs"]["images"]["dtype"] = "f64";
  for (Json& variable : model["variables"]) variable["dtype"] = "f64";
  std::string text = model.dump();
  const std::string cast = "\"dtype\":\"f32\"";
  for (size_t at = text.find(cast); at != std::string::npos; at = text.find(cast))
    text.replace(at, cast.size(), "\"dtype\":\"f64\"");
  std::ofstream(path) << text;
}

}  // namespace

// If a hidden unit is nearly 0, another order of additions may switch it on or off: the losses of f32 runs
// can drift apart after some dozen steps. In f64 they can't within 100.
TEST_CASE("digits are learned, and alike under every layout") {
  if (!fs::exists(data_folder() + "/t10k-images-idx3-ubyte.gz"))
    return skip_without("digits", "there are none in " + data_folder() + "; set MTFC_DATA");
  const ScratchFolder folder;
  const std::string metrics = folder / "log", exact = folder / "exact.json";
  const std::string model = std::string(kSourceFolder) + "/models/mnist.json";
  write_in_f64(exact);
  const std::string both = "--mesh a:2,b:2 --layout batch:a,hidden:b";
  const std::vector<Json> expected = run(exact, "", 100, metrics);
  for (const std::string& layout :
       {std::string("--mesh a:2 --layout batch:a"), std::string("--mesh a:2 --layout hidden:a"),
        std::string("--mesh a:4 --layout batch:a"), std::string("--mesh a:4 --layout hidden:a"), both}) {
    INFO(layout);
    CHECK(difference(expected, run(exact, layout, 100, metrics)) < 1e-12);
  }
  for (const std::string& layout : {std::string(""), both}) {
    INFO(layout);
    CHECK(run(model, layout, 900, metrics).back()["valid/accuracy"].get<double>() >= 0.93);
  }
}

}  // namespace mtfc::digits_test
