// `mtfc verify`: what it compares, the faults that it finds, and the alarms that it must not raise.

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/wait.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "core/testing/checkout.h"
#include "core/testing/scratch_folder.h"
#include "core/testing/text.h"

namespace mtfc::verify_test {
namespace {

const std::string kMnist = "models/mnist.json";

struct Outcome {
  int code = -1;
  std::string out, err;
};

// Runs the program in the folder of the source.
Outcome mtfc(const std::string& arguments) {
  const ScratchFolder folder;
  const std::string line = fmt::format("cd '{}' && '{}' {} >'{}' 2>'{}' </dev/null", kSourceFolder,
                                       kTestedProgram, arguments, folder / "out", folder / "err");
  const int status = std::system(line.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, contents(folder / "out"), contents(folder / "err")};
}

TEST_CASE("counts what it can't judge") {
  const ScratchFolder folder;
  std::ofstream(folder / "model.json") << R"({"mtfc": 1, "dims": {"rows": 4},
    "inputs": {"x": {"dims": ["rows"]}},
    "ops": [{"out": "h", "op": "log", "in": "x"}, {"out": "y", "op": "exp", "in": "h"}], "outputs": ["y"],
    "data": {"x": "random:uniform,lo=-2,hi=-1"}})";
  const Outcome outcome = mtfc("verify " + folder / "model.json" + " --mesh a:2 --layout rows:a");
  CHECK(outcome.code == 0);
  CHECK(has(outcome.out, " elements are not a number in both runs, first in 'h'\n"));
}

TEST_CASE("compares outputs that no operation makes, and a run that compares nothing is no success") {
  const ScratchFolder folder;
  std::ofstream(folder / "renamed.json") << R"({"mtfc": 1, "dims": {"rows": 4, "lines": 4},
    "inputs": {"x": {"dims": ["rows"]}},
    "ops": [{"out": "y", "op": "rename", "in": "x", "map": {"rows": "lines"}}], "outputs": ["y"],
    "data": {"x": "random:uniform"}})";
  const Outcome renamed = mtfc("verify " + folder / "renamed.json" + " --mesh a:2 --layout rows:a,lines:a");
  CHECK(renamed.code == 0);
  CHECK_FALSE(has(renamed.out, ": 0 tensors"));
  std::ofstream(folder / "empty.json") << R"({"mtfc": 1, "dims": {"rows": 4},
    "inputs": {"x": {"dims": ["rows"]}}, "ops": [], "outputs": [], "data": {"x": "random:uniform"}})";
  const Outcome empty = mtfc("verify " + folder / "empty.json" + " -q");
  CHECK(empty.code == 1);
  CHECK(empty.out == "nothing was compared: the model has no outputs and no variables\n");
}

// scripts/verify_models.py does the same for many more layouts.
TEST_CASE("passes for every bundled model, in f32, f64 and bf16") {
  const std::string sizes =
      " --set layers=2 --set d_model=24 --set d_ff=30 --set heads=4 --set d_kv=6 --set vocab=37 --set "
      "batch=6 ";
  const std::vector<std::pair<std::string, std::vector<std::string>>> models = {
      {"two_layer --set batch=20 --set io=14 --set hidden=33",
       {"--layout models/layouts/both.json", "--mesh p:3,q:2 --layout io:p,batch:q"}},
      {"mnist --set hidden=33 --set batch=20",
       {"--layout models/layouts/model_parallel.json", "--mesh p:3,q:2 --layout rows:p,classes:q"}},
      {"byte_mlp --set d_ff=40 --set batch=20",
       {"--layout models/layouts/byte_mlp_both.json", "--mesh p:4 --layout d_model:p"}},
      {"char_lm --set length=10" + sizes,
       {"--layout models/layouts/transformer_both.json", "--mesh p:3 --layout length:p"}},
      {"transformer_lm --set length=10 --set z_loss=0.01" + sizes,
       {"--layout models/layouts/transformer_model_parallel.json",
        "--mesh p:2,q:2 --layout d_model:p,memory_length:q"}},
      {"transformer_encdec --set length=10" + sizes,
       {"--layout models/layouts/data_parallel.json", "--mesh p:3,q:2 --layout heads:q,length:p"}},
      {"gpt2 --set positions=12 --set length=10" + sizes,
       {"--layout models/layouts/transformer_both.json", "--mesh p:3 --layout qkv:p,vocab:p"}}};
  for (const auto& [model, layouts] : models)
    for (const std::string& layout : layouts)
      for (const char* dtype : {"", " --dtype f64", " --dtype bf16"}) {
        const size_t name = model.find(' ');
        const std::string command =
            fmt::format("verify models/{}.json{} {}{}", model.substr(0, name),
                        name == std::string::npos ? "" : model.substr(name), layout, dtype);
        CAPTURE(command);
        const Outcome outcome = mtfc(command);
        CAPTURE(outcome.out);
        CAPTURE(outcome.err);
        CHECK(outcome.code == 0);
      }
}

TEST_CASE("raises no alarm where rounding decides, or where f64 is computed from f32") {
  // The bias before the softmax and the bias of keys have a gradient that is mathematically 0.
  const std::string encdec =
      "models/transformer_encdec.json --set layers=2 --set d_model=16 --set d_ff=24 --set vocab=31 "
      "--set batch=4 --set length=6 --set memory_length=6 ";
  const Outcome adam =
      mtfc("verify " + encdec + "--mesh p:2,q:2 --layout batch:p,heads:q,d_ff:q,vocab:q --steps 3");
  CHECK(adam.code == 0);
  const ScratchFolder folder;
  std::ofstream(folder / "clipped.json") << R"({"mtfc": 1, "dims": {"batch": 12, "in": 8, "out": 5},
    "inputs": {"x": {"dims": ["batch", "in"]}, "t": {"dims": ["batch", "out"]}},
    "variables": {"w": {"dims": ["in", "out"], "init": {"normal": 0.5}}},
    "ops": [{"out": "y", "op": "einsum", "in": ["x", "w"], "over": "in"},
            {"out": "loss", "op": "reduce_mean", "in": {"op": "square", "in": {"op": "sub", "in": ["y", "t"]}}}],
    "train": {"loss": "loss", "clip_norm": 0.5, "optimizer": {"kind": "sgd", "lr": 0.1}},
    "outputs": ["loss"], "data": {"x": "random:normal", "t": "random:normal"}})";
  for (int seed = 0; seed < 10; ++seed)
    CHECK(mtfc("verify " + folder / "clipped.json" +
               " --mesh p:3,q:2 --layout batch:p,in:q --steps 2 --seed " + std::to_string(seed))
              .code == 0);
  // e^x of 1,000 numbers less e^x of the same in another order.
  std::ofstream(folder / "cancelled.json") << R"({"mtfc": 1, "dims": {"rows": 1000},
    "inputs": {"x": {"dims": ["rows"], "dtype": "f64"}},
    "ops": [{"out": "e", "op": "exp", "in": "x"}, {"out": "r", "op": "reverse", "in": "e", "dim": "rows"},
            {"out": "d", "op": "sub", "in": ["e", "r"]}, {"out": "one", "op": "exp", "in": {"op": "sub", "in": ["x", "x"]}},
            {"out": "s", "op": "einsum", "in": ["d", "one"], "over": "rows"}],
    "outputs": ["s"], "data": {"x": "random:normal"}})";
  for (const char* mesh : {"a:2", "a:3", "a:7"})
    CHECK(mtfc("verify " + folder / "cancelled.json" + " --layout rows:a --mesh " + mesh).code == 0);
}

TEST_CASE("compares decode with the model, for every bundled model that has one") {
  const std::string sizes =
      " --set layers=2 --set d_model=16 --set d_ff=24 --set heads=4 --set vocab=29 --set batch=2 ";
  const std::string agrees =
      "\ndecode gives the model's logits at 10 positions, on one device and under the layout\n";
  for (const std::string& model :
       {std::string("char_lm.json --set length=10"),
        std::string("transformer_lm.json --set length=10 --set gelu=1"),
        std::string("transformer_lm.json --set length=10 --set tie_embeddings=1 --set beam=2"),
        std::string("moe_lm.json --set length=10 --set experts=5 --set capacity_factor=2.5"),
        std::string("moe_lm.json --set length=10 --set experts=5 --set choice=1 --set beam=3 "
                    "--set capacity_factor=5"),
        std::string("gpt2.json --set positions=12 --set length=10")})
    CHECK(has(mtfc("verify models/" + model + sizes + "--mesh p:2,q:2 --layout batch:p,heads:q,vocab:q").out,
              agrees));
  // One of its sentences is all padding, of which attention sees nothing.
  CHECK(has(mtfc("verify models/transformer_encdec.json --set length=10" + sizes).out,
            "\ndecode gives the model's logits at 10 positions"));
  const Outcome drops = mtfc("verify models/moe_lm.json --set length=10" + sizes);
  CHECK(drops.code == 0);
  CHECK(has(drops.out,
            "\ndecode is not compared: its logits are those of the model only if capacity >= tokens\n"));
  // A decode that goes another way than its model.
  const ScratchFolder folder;
  std::string text = contents(std::string(kSourceFolder) + "/models/transformer_lm.json");
  const std::string call =
      R"("block": "cached_lm_layer", "in": ["x", "position", "seen"], "scope": "layer", "bind": {)";
  REQUIRE(has(text, call));
  text.replace(text.find(call), call.size(), call + R"("gelu": 0, )");
  std::ofstream(folder / "other.json") << text;
  const Outcome other = mtfc("verify " + folder / "other.json" + sizes + "--set length=10 --set gelu=1 -q");
  CHECK(other.code == 1);
  CHECK(has(other.out,
            "decode gives other logits than the model itself, on one device: at position 0, for token "));
  const Outcome check = mtfc("check " + folder / "other.json" + " --set gelu=1");
  CHECK(check.code == 0);
  CHECK(has(check.err + check.out,
            "decode calls 'cached_lm_layer' with 'gelu' 0, but the model calls 'lm_layer' in the scope "
            "'layer_0' with 1"));
}

TEST_CASE("microbatches and propagated layouts are compared as well") {
  // The zero with which a sum over microbatches begins is no form of the sum.
  for (const char* how : {"--microbatches 2", "--propagate", "--microbatches 2 --propagate"}) {
    CAPTURE(how);
    const Outcome same =
        mtfc(fmt::format("verify {} --mesh rows:2,cols:2 --layout batch:rows,hidden:cols {}", kMnist, how));
    CHECK(same.code == 0);
    CHECK(same.out.starts_with("the same as on one device: "));
  }
  CHECK(
      has(mtfc("verify models/transformer_lm.json --set layers=1 --set vocab=32 --set length=8 --set batch=4 "
               "--mesh p:2,q:2 --layout batch:p,heads:q --propagate")
              .out,
          "decode gives the model's logits at 8 positions, on one device and under the layout"));
}

TEST_CASE("compares every tensor with a run on one device") {
  const Outcome same =
      mtfc("verify " + kMnist + " --mesh rows:2,cols:2 --layout batch:rows,hidden:cols --steps 2");
  CHECK(same.code == 0);
  CHECK(same.out.find("the same as on one device: ") == 0);
  CHECK(has(same.out, " tensors compared, mesh rows:2,cols:2, layout batch:rows,hidden:cols\n"));
  CHECK(has(same.out, "the largest difference is "));
  const Outcome strict = mtfc("verify " + kMnist + " --mesh a:3 --layout hidden:a --tolerance 1e-30");
  CHECK(strict.code == 1);
  CHECK(strict.out.starts_with("the first tensor that differs is '"));
  CHECK(has(strict.out, "': train, step 1, made by "));
  CHECK(has(strict.out, "; the tolerance allows "));
  CHECK(has(mtfc("verify " + kMnist).out, " tensors compared, one device, no rules\n"));
  CHECK(mtfc("verify " + kMnist + " --mesh a:3 --layout hiden:a").code == 2);
  CHECK(mtfc("verify " + kMnist + " --input image=random:normal").code == 2);
}

}  // namespace
}  // namespace mtfc::verify_test
