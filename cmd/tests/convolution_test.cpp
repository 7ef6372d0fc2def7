// Convolutions over split spatial dimensions: what they send, the halos that explain prints, the memory that they save,
// and that a network for digits learns alike under every layout. The last needs the MNIST test set in
// ../shared/data/mnist beside the checkout, or in the folder that MTFC_DATA names; without it that test is skipped with
// a message.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cmd/testing/command_results.h"
#include "cmd/testing/shell.h"
#include "core/testing/checkout.h"
#include "core/testing/scratch_folder.h"
#include "core/testing/skip.h"

namespace mtfc::convolution_test {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

// One convolution of 7 taps, stride 2 and padding 3 along the 224 rows of 128 images with 3 channels.
std::string stem(const ScratchFolder& folder) {
  std::ofstream(folder / "stem.json") << R"({
    "mtfc": 1,
    "dims": {"batch": 128, "rows": 224, "cols": 224, "color": 3, "kernel": 7, "rows2": 112, "channels": 2},
    "inputs": {"x": {"dims": ["batch", "rows", "cols", "color"]}, "w": {"dims": ["kernel", "color", "channels"]}},
    "ops": [{"out": "y", "op": "conv", "in": ["x", "w"], "over": "color",
             "windows": [{"dim": "rows", "taps": "kernel", "to": "rows2", "stride": 2, "low": 3, "high": 3}]}],
    "outputs": ["y"],
    "data": {"x": "random:normal", "w": "random:normal"}
  })";
  return folder / "stem.json";
}

int64_t bytes_sent(const Json& report) {
  return report["communication"]["bytes_sent_per_device"].get<int64_t>();
}

Json explained(const std::string& model, const std::string& what, const std::string& options) {
  const ScratchFolder folder;
  CHECK(outcome_in_models(fmt::format("$MTFC explain '{}' {} {} -q -o '{}'", model, what, options,
                                      folder / "explained.json")) == "exit 0: ");
  return Json::parse(folder.read("explained.json"));
}

std::vector<int64_t> numbers(const Json& shards, const char* key) {
  std::vector<int64_t> found;
  for (const Json& shard : shards) found.push_back(shard[key].get<int64_t>());
  return found;
}

std::string data_folder() {
  const char* given = std::getenv("MTFC_DATA");
  return (given ? std::string(given) : std::string(kSourceFolder) + "/../shared/data") + "/mnist";
}

std::vector<Json> learned(const std::string& options, int steps) {
  const ScratchFolder folder;
  const std::string images = "images=idx:" + data_folder() + "/t10k-images-idx3-ubyte.gz,scale=1/255,rows=",
                    labels = "labels=idx:" + data_folder() + "/t10k-labels-idx1-ubyte.gz,rows=";
  const std::string ran = outcome_in_models(fmt::format(
      "$MTFC run mnist_conv.json {} -q --steps {} --input {}0:9000 --input {}0:9000 --valid {}9000:10000 "
      "--valid {}9000:10000 --metrics '{}'",
      options, steps, images, labels, images, labels, folder / "log"));
  CHECK(ran == "exit 0: ");
  std::vector<Json> lines;
  std::ifstream file(folder / "log");
  for (std::string line; std::getline(file, line);) lines.push_back(Json::parse(line));
  REQUIRE(lines.size() == static_cast<size_t>(steps));
  return lines;
}

std::string spatial(int devices) {
  return fmt::format("--mesh p:{} --layout rows:p,rows2:p,rows3:p,rows4:p --propagate", devices);
}

}  // namespace

TEST_CASE("a device sends the rows that its neighbours lack, and no more on more devices") {
  const ScratchFolder folder;
  const std::string model = stem(folder);
  const int64_t row = 128 * 224 * 3 * 4;
  const auto sent = [&](int devices) {
    return bytes_sent(
        report_of("'" + model + "'", fmt::format("--mesh x:{} --layout rows:x,rows2:x", devices)));
  };
  CHECK(sent(2) == 3 * row);
  CHECK(sent(2) == 1'032'192);
  // The devices in the middle have two neighbours, which lack 3 rows and 2.
  for (const int devices : {4, 8, 16}) CHECK(sent(devices) == 5 * row);
  const std::string verified = outcome_in_models(
      fmt::format("$MTFC verify '{}' --set batch=2 --mesh x:4 --layout rows:x,rows2:x", model));
  CHECK_MESSAGE(verified.starts_with("exit 0: the same as on one device"), verified);
}

TEST_CASE("explain prints the halo of each shard") {
  const ScratchFolder folder;
  const std::string model = stem(folder);
  for (const char* what : {"0", "x"}) {
    const Json json = explained(model, what, "--mesh x:2 --layout rows:x,rows2:x");
    const Json& halos = std::string(what) == "0" ? json["reshard"]["halos"] : json["held"][0]["halos"];
    REQUIRE(halos.size() == 1);
    CHECK(halos[0]["dim"] == "rows");
    CHECK(numbers(halos[0]["shards"], "left") == std::vector<int64_t>{0, 3});
    CHECK(numbers(halos[0]["shards"], "right") == std::vector<int64_t>{2, 0});
    CHECK(numbers(halos[0]["shards"], "from_others") == std::vector<int64_t>{1, 1});
  }
  const std::string text =
      outcome_in_models(fmt::format("$MTFC explain '{}' 0 --mesh x:2 --layout rows:x,rows2:x", model));
  CHECK(text.find("\n  shard     holds     reads  left  right  from others\n"
                  "  0        0..112    0..114     0      2            1\n"
                  "  1      112..224  109..224     3      0            1\n") != std::string::npos);
}

TEST_CASE("a network whose rows are split takes its share of the memory, and search finds such a split") {
  const std::string sizes = "unet.json --set rows=2048 --set cols=2048";
  const auto memory = [&](int devices) {
    return report_of(sizes, spatial(devices))["memory"]["peak_bytes_per_device"].get<double>();
  };
  const double whole = memory(1);
  for (const int devices : {2, 4, 8}) CHECK(std::abs(memory(devices) * devices / whole - 1) < 0.1);
  const ScratchFolder folder;
  CHECK(outcome_in_models(fmt::format("$MTFC search unet.json --mesh p:4 -q -o '{}'", folder / "best.json"))
            .starts_with("exit 0: "));
  const std::string best = folder.read("best.json");
  CHECK_MESSAGE((best.find("rows") != std::string::npos || best.find("cols") != std::string::npos), best);
}

TEST_CASE("batch normalization has the statistics of the whole batch, however it is split") {
  const std::vector<double> expected =
      losses_of("unet.json --set rows=32 --set cols=32 --set width=4 --set batch=4");
  for (const std::string& layout : {spatial(2), spatial(4), std::string("--mesh p:2 --layout batch:p")}) {
    const std::vector<double> found =
        losses_of("unet.json --set rows=32 --set cols=32 --set width=4 --set batch=4 " + layout);
    for (size_t i = 0; i < expected.size(); ++i) CHECK(std::abs(found[i] / expected[i] - 1) < 1e-4);
  }
}

TEST_CASE("digits are learned by convolutions, and alike where rows and columns are split") {
  if (!fs::exists(data_folder() + "/t10k-images-idx3-ubyte.gz"))
    return skip_without("digits", "there are none in " + data_folder() + "; set MTFC_DATA");
  const std::vector<Json> expected = learned("", 450);
  CHECK(expected.back()["valid/accuracy"].get<double>() >= 0.97);
  for (const char* layout : {"--mesh p:2 --layout rows:p,rows2:p,rows3:p",
                             "--mesh p:2,q:2 --layout rows:p,rows2:p,rows3:p,cols:q,cols2:q,cols3:q"}) {
    const std::vector<Json> found = learned(layout, 20);
    for (size_t step = 0; step < found.size(); ++step)
      CHECK(std::abs(found[step]["loss"].get<double>() / expected[step]["loss"].get<double>() - 1) < 1e-4);
  }
}

}  // namespace mtfc::convolution_test
