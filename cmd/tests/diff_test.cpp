// mtfc diff: two layouts of one model side by side.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>

#include "cmd/testing/shell.h"
#include "core/testing/scratch_folder.h"
#include "core/testing/text.h"

namespace mtfc::diff_test {
namespace {

using Json = nlohmann::json;

std::string compared(const std::string& arguments) {
  return outcome_in_models("$MTFC diff " + arguments);
}

Json json_of(const std::string& arguments) {
  const std::string text = compared(arguments + " --format json");
  REQUIRE_MESSAGE(text.starts_with("exit 0: "), text);
  return Json::parse(text.substr(8));
}

// The collective of this kind and tensor.
Json collective_of(const Json& difference, const std::string& kind, const std::string& tensor) {
  for (const Json& one : difference["collectives"])
    if (one["kind"] == kind && one["tensors"][0] == tensor) return one;
  return {};
}

}  // namespace

TEST_CASE("data parallel against model parallel") {
  const Json found = json_of("mnist.json batch:all hidden:all --mesh all:4");
  // An all_reduce over 4 devices sends 2*(4-1)/4 of its bytes on each: of the gradient of w1, 28*28*1024 f32.
  const Json gradient = collective_of(found, "all_reduce", "w1/grad");
  REQUIRE_FALSE(gradient.is_null());
  CHECK(gradient["a"] == Json({{"count", 1}, {"bytes_sent", 28 * 28 * 1024 * 4 * 2 * 3 / 4}}));
  CHECK(gradient["b"] == Json({{"count", 0}, {"bytes_sent", 0}}));
  // The logits, 100*10 f32, are all that a model-parallel step adds up.
  CHECK(found["b"]["bytes_sent_per_device"] == 100 * 10 * 4 * 2 * 3 / 4);
  CHECK(found["b"]["collectives"] == 1);
  bool has_images = false;
  for (const Json& one : found["shardings"])
    if (one["tensors"][0] == "images") {
      has_images = true;
      CHECK(one["a"] == "[batch/all, rows, cols]");
      CHECK(one["b"] == "[batch, rows, cols]");
    }
  CHECK(has_images);
  double items = 0;
  for (const Json& item : found["times"]) items += item["seconds"].get<double>();
  CHECK(items == doctest::Approx(found["b"]["step_s"].get<double>() - found["a"]["step_s"].get<double>()));
  const std::string text = compared("mnist.json batch:all hidden:all --mesh all:4");
  CHECK(has(text, "\nA  all:4 batch:all\nB  all:4 hidden:all\n"));
  CHECK(has(text, "\n  all_reduce over all of w1/grad: 4.82 MB -> none\n"));
  CHECK(has(text, "\na step of B takes "));
}

TEST_CASE("a layout does not differ from itself") {
  const std::string text = compared("mnist.json batch:all batch:all --mesh all:4");
  CHECK(has(text, "\nsteps of both take the same time\n"));
  CHECK(has(text, "\nall tensors are split alike\n"));
  CHECK(has(text, "\nboth have the same collectives\n"));
  CHECK(has(compared("mnist.json '' '' "), "\nneither has collectives\n"));
}

TEST_CASE("repeated layers share a row, and --top cuts the lists") {
  const std::string arguments =
      "transformer_lm.json batch:rows,heads:cols,d_ff:cols batch:rows+cols --mesh rows:2,cols:2 --set "
      "layers=4 ";
  const std::string text = compared(arguments);
  CHECK(has(text, "  layer_{0..3}/ffn/feed_forward/wi  "));
  const std::string cut = compared(arguments + "--top 2");
  CHECK(has(cut, " more; --top N lists N\n"));
  CHECK(cut.size() < text.size());
}

TEST_CASE("meshes may differ, and saved programs are compared") {
  const ScratchFolder folder;
  const std::string a = folder / "a.json", b = folder / "b.json";
  const std::string rules = "mnist.json batch:rows batch:rows,hidden:cols ";
  const Json compiled = json_of(rules + "--mesh rows:4 --mesh rows:2,cols:2");
  CHECK(compiled["a"]["mesh"].dump() == R"([["rows",4]])");
  CHECK(compiled["b"]["mesh"].dump() == R"([["rows",2],["cols",2]])");
  CHECK(outcome_in_models("$MTFC compile mnist.json -q --mesh rows:4 --layout batch:rows -o " + a) ==
        "exit 0: ");
  CHECK(outcome_in_models(
            "$MTFC compile mnist.json -q --mesh rows:2,cols:2 --layout batch:rows,hidden:cols -o " + b) ==
        "exit 0: ");
  CHECK(json_of(a + " " + b) == compiled);
  const std::string other = folder / "other.json";
  CHECK(outcome_in_models("$MTFC compile two_layer.json -q -o " + other) == "exit 0: ");
  CHECK(compared(a + " " + other) ==
        "exit 2: mtfc: error: the programs are of different models, 'mnist' and 'two_layer'\n");
  CHECK(has(compared(a + " batch:rows hidden:rows"), "is a compiled program, which has its layout"));
  CHECK(has(compared(a + " " + b + " --mesh rows:2"), "--mesh needs a model and two layouts"));
}

TEST_CASE("diff says what is missing or wrong") {
  CHECK(has(compared("mnist.json batch:a --mesh a:2"), "exit 2: "));
  CHECK(has(compared("mnist.json batch:a bathc:a --mesh a:2"), "the model has no dimension 'bathc'"));
  CHECK(has(compared("mnist.json batch:a hidden:a --mesh a:2 --mesh a:2 --mesh a:4"),
            "3 --mesh for two layouts (give one --mesh for both, or one for each)"));
}

}  // namespace mtfc::diff_test
