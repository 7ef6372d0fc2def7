// Training in mixed precision: it is close to that in f32, under every layout, and a resumed run has the same bits.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cmd/testing/command_results.h"
#include "cmd/testing/training_folder.h"

namespace mtfc::mixed_precision_test {
namespace {

const std::string kRun =
    "transformer_lm.json --set layers=2 --set d_model=32 --set d_ff=64 --set heads=4 --set d_kv=8 "
    "--set vocab=48 --set length=16 ";

void check_close(const std::vector<double>& found, const std::vector<double>& expected, double share) {
  REQUIRE(found.size() == expected.size());
  for (size_t i = 0; i < found.size(); ++i) CHECK(std::abs(found[i] - expected[i]) <= share * expected[i]);
}

// Every round uses the variable w and what is made of v. The gradient of each loss by w is 1/2 for each of four
// elements, and by v 1/4, however many rounds add them up: the norm of all is the root of 5/4.
const char* const kManyUses = R"({
  "mtfc": 1,
  "params": {"rounds": 512},
  "dims": {"batch": 4, "k": 2, "d": 2, "e": 2},
  "variables": {"v": {"dims": ["k", "d"], "init": 0.5}},
  "inputs": {"start": {"dims": ["batch", "e"]}},
  "blocks": {
    "round": {
      "in": ["sum", "h"], "out": ["next"],
      "variables": {"w": {"dims": ["d", "e"], "init": 0.25}},
      "ops": [
        {"out": "product", "op": "einsum", "in": ["h", "w"], "over": "d"},
        {"out": "next", "op": "add", "in": ["sum", {"op": "mul", "in": ["product", {"expr": "1 / rounds"}]}]}
      ]
    }
  },
  "ops": [
    {"out": "ones", "op": "broadcast", "in": 1, "dims": ["batch", "k"]},
    {"out": "h", "op": "einsum", "in": ["ones", "v"], "over": "k"},
    {"out": "y", "op": "while", "times": "rounds", "body": "round", "in": ["start", "h"], "scope": "all"},
    {"out": "loss", "op": "reduce_mean", "in": "y"}
  ],
  "train": {"loss": "loss", "optimizer": {"kind": "sgd", "lr": 1}},
  "outputs": ["train/grad_norm"],
  "data": {"start": "random:uniform"}
})";

}  // namespace

TEST_CASE(
    "gradients of many uses lose nothing to rounding, on one device and on several, and in microbatches") {
  const TrainingFolder folder;
  folder.write("many_uses.json", kManyUses);
  for (const char* how : {"", "--simulate --mesh p:2 --layout batch:p", "--simulate --mesh p:2 --layout k:p",
                          "--microbatches 4", "--set rounds=3"}) {
    CAPTURE(how);
    REQUIRE(folder.said(fmt::format("$MTFC run many_uses.json -q --dtype bf16 --steps 1 --metrics log {}",
                                    how)) == "exit 0: ");
    const auto metrics = nlohmann::json::parse(folder.read("log").substr(0, folder.read("log").find('\n')));
    CHECK(metrics["train/grad_norm"].get<double>() == doctest::Approx(std::sqrt(1.25)).epsilon(0.01));
  }
}

// scripts/bench/mixed_precision.py compares many steps on a text.
TEST_CASE("losses in mixed precision are those in f32 to a part of a hundred, under every layout") {
  const std::vector<double> exact = losses_of(kRun), mixed = losses_of(kRun + "--dtype bf16");
  CHECK(mixed != exact);
  check_close(mixed, exact, 1e-2);
  for (const char* layout :
       {"--mesh p:2 --layout batch:p", "--mesh rows:2,cols:2 --layout layouts/transformer_both.json",
        "--mesh all:2 --layout layouts/zero_3.json", "--mesh p:3 --layout heads:p,d_ff:p,vocab:p"}) {
    CAPTURE(layout);
    check_close(losses_of(kRun + "--dtype bf16 --simulate " + layout), mixed, 1e-2);
  }
}

TEST_CASE(
    "checkpoints keep f32, and a resumed run in mixed precision has the bits of one that never stopped") {
  const TrainingFolder folder;
  CHECK(folder.said("$RUN --dtype bf16 --checkpoint whole --steps 5") == "exit 0: ");
  CHECK(folder.said("$RUN --dtype bf16 --checkpoint ck --steps 3") == "exit 0: ");
  CHECK(folder.said("$RUN --dtype bf16 --checkpoint ck --steps 5 --resume") == "exit 0: ");
  CHECK(folder.weights("ck/step_00000005") == folder.weights("whole/step_00000005"));
  CHECK(folder.weights("ck/step_00000005").find("BF16") == std::string::npos);
  CHECK(folder.said("$RUN --checkpoint exact --steps 5") == "exit 0: ");
  CHECK(folder.weights("exact/step_00000005") != folder.weights("whole/step_00000005"));
}

}  // namespace mtfc::mixed_precision_test
