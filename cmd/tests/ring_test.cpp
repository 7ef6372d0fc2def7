// Products in turns (the key "ring" of a layout): what they save, and that they give the same.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cmd/testing/command_results.h"
#include "cmd/testing/shell.h"
#include "core/testing/scratch_folder.h"

namespace mtfc::ring_test {
namespace {

using Json = nlohmann::json;

// y = a * b, whose dimensions have 4096 elements unless --set says otherwise, and layouts for it.
class Product {
 public:
  Product() {
    std::ofstream(model()) << R"({
      "mtfc": 1,
      "dims": {"m": 4096, "k": 4096, "n": 4096},
      "inputs": {"a": {"dims": ["m", "k"]}, "b": {"dims": ["k", "n"]}},
      "ops": [{"out": "y", "op": "einsum", "in": ["a", "b"], "over": "k"}],
      "outputs": ["y"],
      "data": {"a": "random:normal", "b": "random:normal"}
    })";
  }

  std::string model() const { return folder_ / "model.json"; }
  // A file with the shardings and the text of the key "ring".
  std::string layout(const std::string& shardings, const std::string& ring) {
    const std::string path = folder_ / fmt::format("layout_{}.json", ++layouts_);
    std::ofstream(path) << fmt::format(R"({{"mesh": [["x", 4]], "shardings": {}, "ring": {}}})", shardings,
                                       ring);
    return path;
  }
  std::string listing(const std::string& options) const {
    return outcome_in_models(fmt::format("$MTFC compile '{}' {}", model(), options));
  }
  Json program(const std::string& options) const {
    const std::string path = folder_ / "program.json";
    REQUIRE(outcome_in_models(fmt::format("$MTFC compile '{}' {} -q -o '{}'", model(), options, path)) ==
            "exit 0: ");
    return Json::parse(folder_.read("program.json"));
  }
  const ScratchFolder& folder() const { return folder_; }

 private:
  ScratchFolder folder_;
  int layouts_ = 0;
};

constexpr const char* kOperandTurns = R"({"a": {"m": "x"}, "b": {"k": "x"}, "y": {"m": "x"}})";
constexpr const char* kColumnsTurn = R"({"a": {"m": "x"}, "b": {"n": "x"}, "y": {"m": "x"}})";
constexpr const char* kResultTurns = R"({"a": {"k": "x"}, "b": {"k": "x"}, "y": {"m": "x"}})";

int64_t largest_buffer(const Json& program) {
  int64_t largest = 0;
  for (const Json& entry : program["entry_points"])
    for (const Json& buffer : entry["buffers"]) largest = std::max(largest, buffer["bytes"].get<int64_t>());
  return largest;
}

int64_t arena(const Json& program) {
  int64_t most = 0;
  for (const Json& entry : program["entry_points"])
    most = std::max(most, entry["arena_bytes"].get<int64_t>());
  return most;
}

}  // namespace

TEST_CASE("a ring sends what gathering or scattering sends, and no device holds the whole tensor") {
  Product product;
  for (const char* shardings : {kOperandTurns, kColumnsTurn, kResultTurns}) {
    CAPTURE(shardings);
    const std::string apart = product.layout(shardings, R"({"y": false})"),
                      ring = product.layout(shardings, R"({"y": true})");
    const auto sent = [&](const std::string& layout) {
      const Json report =
          report_of("'" + product.model() + "'", fmt::format("--layout '{}' --entry evaluate", layout));
      return report["communication"]["bytes_sent_per_device"].get<int64_t>();
    };
    CHECK(sent(apart) == 50'331'648);
    CHECK(sent(ring) == 50'331'648);
    const Json gathered = product.program(fmt::format("--layout '{}'", apart)),
               turned = product.program(fmt::format("--layout '{}'", ring));
    CHECK(largest_buffer(gathered) >= 67'108'864);
    CHECK(largest_buffer(turned) < 67'108'864);
    CHECK(arena(gathered) - arena(turned) >= 33'554'432);
  }
}

TEST_CASE("a product turns where that is faster, and where the model itself says how tensors are split") {
  const ScratchFolder folder;
  std::ofstream(folder / "model.json") << R"({
    "mtfc": 1,
    "dims": {"m": 4096, "k": 4096, "n": 4096},
    "inputs": {"a": {"dims": ["m", "k"], "sharding": {"m": "x"}}, "b": {"dims": ["k", "n"], "sharding": {"k": "x"}}},
    "ops": [{"out": "y", "op": "einsum", "in": ["a", "b"], "over": "k", "sharding": {"m": "x"}}],
    "outputs": ["y"]
  })";
  const auto listing = [&](const std::string& options) {
    return outcome_in_models(fmt::format("$MTFC compile '{}' --mesh x:4 {}", folder / "model.json", options));
  };
  const std::string fast = listing("--hardware tpu-v3");
  CHECK(fast.find("ring einsum(a, b)") != std::string::npos);
  CHECK(fast.find("of kernels and collectives on tpu-v3") != std::string::npos);
  CHECK(listing("").find("ring einsum") == std::string::npos);
}

TEST_CASE("a program with a ring has the same length for 4 devices and for 64") {
  Product product;
  const std::string layout = product.layout(kOperandTurns, R"({"y": true})");
  const auto lines = [&](const char* mesh) {
    const std::string text = product.listing(fmt::format("--layout '{}' --mesh {}", layout, mesh));
    return std::count(text.begin(), text.end(), '\n');
  };
  CHECK(lines("x:4") == lines("x:64"));
}

TEST_CASE("results in turns are those of one device, whatever the sizes of slices") {
  Product product;
  for (const char* shardings : {kOperandTurns, kColumnsTurn, kResultTurns})
    for (const char* mesh : {"x:2", "x:3", "x:4"})
      for (const char* sizes : {"--set m=64 --set k=48 --set n=40", "--set m=65 --set k=67 --set n=71",
                                "--set m=5 --set k=2 --set n=3"}) {
        CAPTURE(shardings);
        CAPTURE(mesh);
        CAPTURE(sizes);
        const std::string layout = product.layout(shardings, R"({"y": true})");
        CHECK(outcome_in_models(fmt::format("$MTFC verify '{}' --layout '{}' --mesh {} {}", product.model(),
                                            layout, mesh, sizes))
                  .starts_with("exit 0: the same as on one device: "));
      }
}

TEST_CASE("a compiled program with a ring runs on ranks") {
  Product product;
  const std::string layout = product.layout(kResultTurns, R"({"**": true})");
  const Json program =
      product.program(fmt::format("--layout '{}' --mesh x:2 --set m=30 --set k=31 --set n=32", layout));
  REQUIRE(program["entry_points"][1]["steps"][0]["kind"] == "ring");
  CHECK(outcome_in_models(fmt::format("mpiexec.mpich -n 2 $MTFC run '{}' --steps 2 -q --output y='{}'",
                                      product.folder() / "program.json", product.folder() / "y.npy"))
            .starts_with("exit 0: "));
}

TEST_CASE("training with weights that turn is that of one device") {
  const ScratchFolder folder;
  std::ofstream(folder / "layout.json") << R"({
    "mesh": [["rows", 2]], "rules": [["batch", "rows"]], "shard_state_over": "rows", "shard_variables": true,
    "regather": "**", "ring": {"**": true}
  })";
  const std::string model =
      "transformer_lm.json --set layers=2 --set d_model=32 --set d_ff=64 --set heads=4 --set d_kv=8 --set "
      "vocab=48 --set length=16 --dtype f64 --set dropout=0.1";
  const std::vector<double> expected = losses_of(model);
  for (const char* mesh : {"rows:2", "rows:3", "rows:4"}) {
    CAPTURE(mesh);
    const std::vector<double> found =
        losses_of(fmt::format("{} --simulate --mesh {} --layout '{}'", model, mesh, folder / "layout.json"));
    REQUIRE(found.size() == expected.size());
    for (size_t i = 0; i < found.size(); ++i) CHECK(std::abs(found[i] - expected[i]) < 1e-9);
  }
}

TEST_CASE("products run in turns where memory demands it") {
  Product product;
  const std::string shardings = kOperandTurns;
  const std::string layout = product.layout(shardings, "{}"),
                    forbidden = product.layout(shardings, R"({"y": false})");
  const std::string fits = product.listing(fmt::format("--layout '{}' --memory-limit 100MiB", layout));
  CHECK(fits.find("to fit into 100 MiB, 1 product runs in turns") != std::string::npos);
  CHECK(fits.find("ring einsum") != std::string::npos);
  const std::string enough = product.listing(fmt::format("--layout '{}' --memory-limit 1GiB", layout));
  CHECK(enough.find("ring einsum") == std::string::npos);
  CHECK(product.listing(fmt::format("--layout '{}' --memory-limit 70MiB", layout)).starts_with("exit 2"));
  CHECK(product.listing(fmt::format("--layout '{}' --memory-limit 100MiB", forbidden)).starts_with("exit 2"));
}

TEST_CASE("products run in turns where a plan is chosen for hardware that multiplies while it sends") {
  Product product;
  const std::string layout = product.layout(kOperandTurns, "{}");
  const auto turns = [&](const char* options) {
    return product.listing(fmt::format("--layout '{}' {}", layout, options)).find("ring einsum") !=
           std::string::npos;
  };
  CHECK(turns("--hardware tpu-v2"));
  CHECK_FALSE(turns("--hardware ethernet-cluster"));  // whose devices share memory
  CHECK_FALSE(turns(""));
}

TEST_CASE("products run in turns where the model itself states the shardings of a plan") {
  const ScratchFolder folder;
  folder.write("model.json", R"({
    "mtfc": 1,
    "dims": {"m": 4096, "k": 4096, "n": 4096},
    "inputs": {"a": {"dims": ["m", "k"], "sharding": {"m": "x"}}, "b": {"dims": ["k", "n"], "sharding": {"k": "x"}}},
    "ops": [{"out": "y", "op": "einsum", "in": ["a", "b"], "over": "k", "sharding": {"m": "x"}}],
    "outputs": ["y"]
  })");
  const auto turns = [&](const char* options) {
    return outcome_in_models(fmt::format("$MTFC compile '{}' --mesh x:4 {}", folder / "model.json", options))
               .find("ring einsum") != std::string::npos;
  };
  CHECK(turns("--hardware tpu-v2"));
  CHECK_FALSE(turns("--hardware ethernet-cluster"));
  CHECK_FALSE(turns(""));
}

TEST_CASE("a rule for a product holds where it is computed again") {
  const ScratchFolder folder;
  std::ofstream(folder / "layout.json") << R"({
    "mesh": [["rows", 2]], "rules": [["batch", "rows"]], "shard_state_over": "rows", "shard_variables": true,
    "regather": "**", "ring": {"**": false, "layer_*/ffn/**": true}
  })";
  const std::string text = outcome_in_models(
      fmt::format("$MTFC compile transformer_lm.json --set layers=2 --set recompute=1 -q --layout '{}'",
                  folder / "layout.json"));
  size_t turned = 0, again = 0;
  for (size_t at = text.find("ring einsum"); at != std::string::npos; at = text.find("ring einsum", at + 1)) {
    const size_t begin = text.rfind('\n', at) + 1;
    const std::string line = text.substr(begin, at - begin);
    CHECK(line.find("/ffn/") != std::string::npos);
    ++turned;
    again += line.find("/again") != std::string::npos;
  }
  CHECK(turned > 0);
  CHECK(again > 0);
}

TEST_CASE("a rule for a product may have the name that the model gives it") {
  const ScratchFolder folder;
  const auto listing = [&](const std::string& rules) {
    std::ofstream(folder / "layout.json") << fmt::format(
        R"({{"mesh": [["rows", 2]], "rules": [["batch", "rows"]], "shard_state_over": "rows",
             "shard_variables": true, "regather": "**", "ring": {{{}}}}})",
        rules);
    return outcome_in_models(fmt::format(
        "$MTFC compile transformer_lm.json --set layers=1 -q --layout '{}' 2>&1", folder / "layout.json"));
  };
  // Programs know the result of the block 'output_embedding' as 'output/logits'.
  const std::string none = listing(R"("**": false)");
  const std::string turned = listing(R"("**": false, "output/logits": true)");
  CHECK(none.find("ring einsum") == std::string::npos);
  CHECK(turned.find("ring einsum") != std::string::npos);
  CHECK(listing(R"("**": false, "logits": true)") == turned);
  CHECK(listing(R"("logits": true, "**": false, "output/**": false)") ==
        listing(R"("output/logits": true, "**": false, "output/**": false)"));
  const auto rings_in = [](const std::string& text) {
    size_t count = 0;
    for (size_t at = text.find("ring einsum"); at != std::string::npos; at = text.find("ring einsum", at + 1))
      ++count;
    return count;
  };
  CHECK(rings_in(listing(R"("**": false, "logit*": true)")) == rings_in(turned));
  CHECK(rings_in(listing(R"("logit*": true, "**": false)")) == 0);
  CHECK(rings_in(listing(R"("logits": true, "output/logits": false, "**": false)")) == 0);
  const std::string refused = listing(R"("logit": true)");
  CHECK(refused.find("'logit' matches no product of two tensors (did you mean 'logits'?)") !=
        std::string::npos);
}

TEST_CASE("a product that is named, but can't turn, is a warning") {
  Product product;
  const std::string named =
                        product.layout(R"({"y": {"m": "x"}, "a": {"m": "x"}, "b": {}})", R"({"y": true})"),
                    all = product.layout(R"({"y": {"m": "x"}, "a": {"m": "x"}, "b": {}})", R"({"**": true})");
  CHECK(product.listing(fmt::format("--layout '{}'", named)).find("'y' does not run in turns") !=
        std::string::npos);
  CHECK(product.listing(fmt::format("--layout '{}'", all)).find("does not run in turns") ==
        std::string::npos);
}

}  // namespace mtfc::ring_test
