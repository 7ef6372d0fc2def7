// models/mnist.json learns real digits, to the same losses under every layout. Needs the MNIST test set in
// ../shared/data/mnist beside the checkout, or in the folder that MTFC_DATA names; skips, loudly, without it.

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

namespace mtfc {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

std::string data_folder() {
  const char* given = std::getenv("MTFC_DATA");
  return (given ? std::string(given) : std::string(MTFC_SOURCE_DIR) + "/../shared/data") + "/mnist";
}

std::vector<Json> run(const std::string& layout, const std::string& metrics) {
  const std::string images = "images=idx:" + data_folder() + "/t10k-images-idx3-ubyte.gz,scale=1/255,rows=";
  const std::string labels = "labels=idx:" + data_folder() + "/t10k-labels-idx1-ubyte.gz,rows=";
  const std::string command = fmt::format(
      "'{}' run '{}/models/mnist.json' {} -q --steps 900 --set lr=0.5 --input {}0:9000 --input {}0:9000 "
      "--valid {}9000:10000 --valid {}9000:10000 --metrics '{}'",
      MTFC_BINARY, MTFC_SOURCE_DIR, layout, images, labels, images, labels, metrics);
  REQUIRE(std::system(command.c_str()) == 0);
  std::vector<Json> lines;
  std::ifstream file(metrics);
  for (std::string line; std::getline(file, line);) lines.push_back(Json::parse(line));
  return lines;
}

TEST_CASE("digits are learned, and alike under every layout") {
  if (!fs::exists(data_folder() + "/t10k-images-idx3-ubyte.gz")) {
    MESSAGE("SKIPPED: there are no digits in " << data_folder() << "; set MTFC_DATA");
    return;
  }
  const std::string metrics = (fs::temp_directory_path() / fmt::format("mtfc_digits_{}", getpid())).string();
  const std::vector<Json> expected = run("", metrics);
  REQUIRE(expected.size() == 900);
  for (const std::string& layout :
       {std::string(""), std::string("--mesh a:2 --layout batch:a"),
        std::string("--mesh a:2 --layout hidden:a"), std::string("--mesh a:4 --layout batch:a"),
        std::string("--mesh a:4 --layout hidden:a"),
        std::string("--mesh a:2,b:2 --layout batch:a,hidden:b")}) {
    const std::vector<Json> found = layout.empty() ? expected : run(layout, metrics);
    REQUIRE(found.size() == 900);
    double worst = 0;
    for (size_t step = 0; step < 100; ++step) {
      const double a = expected[step]["loss"], b = found[step]["loss"];
      worst = std::max(worst, std::abs(a - b) / a);
    }
    const double accuracy = found.back()["valid/accuracy"];
    MESSAGE(fmt::format("{:<40} held-out accuracy {:.4f}, losses differ by {:.1e}",
                        layout.empty() ? "one device" : layout, accuracy, worst));
    CHECK(accuracy >= 0.93);
    CHECK(worst < 1e-4);
  }
  fs::remove(metrics);
}

}  // namespace
}  // namespace mtfc
