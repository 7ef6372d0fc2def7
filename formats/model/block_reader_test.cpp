#include "formats/model/block_reader.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <optional>
#include <string>
#include <vector>

#include "core/compile/pipeline.h"
#include "formats/layout/layout_reader.h"
#include "formats/model/model_reader.h"

namespace mtfc::block_reader_test {
namespace {

const std::string kFfn = R"("ffn": {
  "dims": {"model": "io", "width": "hidden"}, "params": {"gain": "model * 2", "gated": 0},
  "in": ["x"], "out": ["y"],
  "variables": {"wi": {"dims": ["model", "width"], "init": {"normal": "1 / width"}},
                "gate": {"dims": ["width"], "init": "ones", "when": "gated"},
                "wo": {"dims": ["width", "model"], "init": "zeros"}},
  "ops": [{"out": "h", "op": "relu", "in": {"op": "einsum", "in": ["x", "wi", {"expr": "gain"}], "over": "model"}},
          {"out": "g", "op": "mul", "in": ["h", "gate"], "when": "gated"},
          {"out": "g", "op": "identity", "in": "h", "when": "not gated"},
          {"out": "y", "op": "einsum", "in": ["g", "wo"], "over": "width"}]})";

std::string model_text(const std::string& blocks, const std::string& ops, const std::string& rest = "") {
  return fmt::format(R"({{"mtfc": 1, "params": {{"layers": 3, "gain": 7}},
    "dims": {{"batch": 4, "io": 6, "hidden": 8, "wide": 16}},
    "inputs": {{"x": {{"dims": ["batch", "io"]}}}}, "blocks": {{{}}}, "ops": [{}], "outputs": ["y"]{}}})",
                     blocks, ops, rest);
}

Model read(const std::string& text, const std::vector<std::string>& sets = {},
           const IncludeSource& source = {}) {
  std::vector<Diagnostic> warnings;
  Model model = read_model(text, "model.json", sets, warnings, {source});
  CHECK(warnings.empty());
  return model;
}

std::vector<std::string> variables(const Model& model) {
  std::vector<std::string> list;
  for (const VariableDecl& decl : model.variables)
    list.push_back(fmt::format("{} {}", decl.name, to_string(decl.type)));
  return list;
}

using Names = std::vector<std::string>;

// A model whose `decode` calls `ffn` in the scope of the model's call, with the given bindings.
std::string decoding_text(const std::string& bind, const std::string& decode_bind) {
  return fmt::format(
      R"({{"mtfc": 1, "dims": {{"batch": 4, "length": 5, "vocab": 6}}, "params": {{"strong": 1}},
    "inputs": {{"tokens": {{"dims": ["batch", "length"], "dtype": "i32"}}}},
    "blocks": {{"scaled": {{"params": {{"gain": 1, "own": 5}}, "in": ["x"], "out": ["y"],
                  "variables": {{"w": {{"dims": ["vocab"], "init": "ones"}}}},
                  "ops": [{{"out": "y", "op": "einsum", "in": ["x", "w", {{"expr": "gain"}}], "dims": ["batch", "length", "vocab"]}}]}},
                "scaled_now": {{"params": {{"gain": 1}}, "in": ["x"], "out": ["y"],
                  "variables": {{"w": {{"dims": ["vocab"]}}}},
                  "ops": [{{"out": "y", "op": "einsum", "in": ["x", "w", {{"expr": "gain"}}], "dims": ["batch", "vocab"]}}]}}}},
    "ops": [{{"out": "hot", "op": "one_hot", "in": "tokens", "dim": "vocab", "dtype": "f32"}},
            {{"out": "logits", "op": "call", "block": "scaled", "in": "hot", "scope": "layer"{}}}],
    "outputs": ["logits"],
    "decode": {{"inputs": {{"token": {{"dims": ["batch"], "dtype": "i32"}}, "position": {{"dims": [], "dtype": "i32"}}}},
      "ops": [{{"out": "hot", "op": "one_hot", "in": "token", "dim": "vocab", "dtype": "f32"}},
              {{"out": "logits", "op": "call", "block": "scaled_now", "in": "hot", "scope": "layer"{}}}],
      "outputs": {{"logits": "logits"}}}}}})",
      bind, decode_bind);
}

// The constants of a graph.
std::vector<double> constants(const Graph& graph) {
  std::vector<double> values;
  for (const TensorId id : graph.tensors().ids())
    if (const std::optional<double> value = graph.constant_value(id)) values.push_back(*value);
  return values;
}

}  // namespace

TEST_CASE("a call of decode takes the params that it does not bind from the model's call in the same scope") {
  std::vector<Diagnostic> warnings;
  const auto gains = [&](const std::string& bind, const std::string& decode_bind) {
    warnings.clear();
    return constants(
        read_model(decoding_text(bind, decode_bind), "model.json", {}, warnings, {}).decode->graph);
  };
  const auto messages = [&] {
    std::vector<std::string> list;
    for (const Diagnostic& warning : warnings)
      if (warning.message.find("decode calls") == 0) list.push_back(warning.message);
    return list;
  };
  const std::string three = R"(, "bind": {"gain": "strong + 2"})", four = R"(, "bind": {"gain": 4})";
  CHECK(gains("", "") == std::vector<double>{1});
  CHECK(gains(three, "") == std::vector<double>{3});
  CHECK(gains(three, three) == std::vector<double>{3});
  CHECK(messages().empty());
  CHECK(gains(three, four) == std::vector<double>{4});
  CHECK(messages() == Names{"decode calls 'scaled_now' with 'gain' 4, but the model calls 'scaled' in the "
                            "scope 'layer' with 3"});
  CHECK(gains("", four) == std::vector<double>{4});
  CHECK(messages() == Names{"decode calls 'scaled_now' with 'gain' 4, but the model calls 'scaled' in the "
                            "scope 'layer' with 1"});
}

TEST_CASE("a call makes the block's variables and operations under its scope") {
  const Model model = read(model_text(kFfn, R"({"out": "y", "op": "call", "block": "ffn", "in": "x"})"));
  CHECK(variables(model) == Names{"ffn/wi f32[io=6, hidden=8]", "ffn/wo f32[hidden=8, io=6]"});
  CHECK(model.graph.find("ffn/h") != kNoTensor);
  // The result also has the name of the call.
  CHECK(model.graph.find("y") == model.graph.find("ffn/y"));
  CHECK(model.outputs.front().tensor == model.graph.find("ffn/y"));
  // A default is computed in the block: 2 * io, without the model's gain.
  CHECK(model.graph.constant_value(model.graph.find("ffn/h.0.2")) == 12.0);
}

TEST_CASE("bind replaces dimensions and params") {
  const Model model =
      read(model_text(kFfn, R"({"out": "y", "op": "call", "block": "ffn", "in": "x", "scope": "a/b",
                "bind": {"width": "wide", "gain": "gain + layers", "gated": 1}})"));
  CHECK(variables(model) ==
        Names{"a/b/wi f32[io=6, wide=16]", "a/b/gate f32[wide=16]", "a/b/wo f32[wide=16, io=6]"});
  CHECK(model.variables[0].init->a == doctest::Approx(1.0 / 16));
  CHECK(model.graph.constant_value(model.graph.find("a/b/h.0.2")) == 10.0);
}

TEST_CASE("a block calls others with its own names") {
  const std::string blocks =
      kFfn + R"(, "layer": {"dims": {"inner": "hidden"}, "params": {"scale": 1}, "in": "x",
    "out": ["z"], "ops": [{"out": "y", "op": "call", "block": "ffn", "in": "x", "bind": {"width": "inner", "gain": "scale"}},
                          {"out": "z", "op": "add", "in": ["x", "y"]}]})";
  const Model model = read(
      model_text(blocks, R"({"out": "y", "op": "repeat", "times": "layers - 1", "block": "layer", "in": "x",
                  "bind": {"inner": "wide", "scale": 0.5}})"));
  CHECK(variables(model) == Names{"layer_0/ffn/wi f32[io=6, wide=16]", "layer_0/ffn/wo f32[wide=16, io=6]",
                                  "layer_1/ffn/wi f32[io=6, wide=16]", "layer_1/ffn/wo f32[wide=16, io=6]"});
  CHECK(model.graph.constant_value(model.graph.find("layer_1/ffn/h.0.2")) == 0.5);
  // The output of one iteration is the input of the next.
  const Node& add = model.graph.producer(model.graph.find("layer_1/z"));
  CHECK(model.graph.tensor(add.operands[0]).name == "layer_0/z");
  CHECK(model.graph.find("y") == model.graph.find("layer_1/z"));
}

TEST_CASE("repeat carries the outputs and gives the rest to every iteration") {
  const std::string two = R"("two": {"in": ["a", "b", "c"], "out": ["s", "t"],
    "ops": [{"out": "s", "op": "add", "in": ["b", "c"]}, {"out": "t", "op": "identity", "in": "a"}]})";
  const std::string ops = R"({"out": "n", "op": "neg", "in": "x"},
    {"out": ["y", "w"], "op": "repeat", "times": "layers", "block": "two", "in": ["x", "n", 2]},
    {"out": "v", "op": "add", "in": ["y", "w"]})";
  const Model model = read(model_text(two, ops));
  const Graph& graph = model.graph;
  const Node& last = graph.producer(graph.find("two_2/s"));
  CHECK(graph.tensor(last.operands[0]).name == "two_1/t");
  CHECK(graph.constant_value(last.operands[1]) == 2.0);
  // Without iterations the inputs pass through.
  const Model none = read(model_text(two, ops), {"layers=0"});
  CHECK(none.outputs.front().tensor == none.graph.find("x"));
  CHECK(none.graph.find("w") == none.graph.find("n"));
}

TEST_CASE("renaming uses formal dimensions") {
  const Model model =
      read(model_text(R"("turn": {"dims": {"from": "io", "to": "hidden"}, "in": "x", "out": "y",
      "ops": [{"out": "y", "op": "rename", "in": "x", "map": {"from": "to"}}]})",
                      R"({"out": "y", "op": "call", "block": "turn", "in": "x"})"),
           {"hidden=6"});
  CHECK(to_string(model.graph.type(model.graph.find("y"))) == "f32[batch=4, hidden=6]");
}

TEST_CASE("a call can be an operand, be assigned from, and be left out") {
  const std::string counter =
      R"("count": {"in": "x", "out": "y", "variables": {"n": {"dims": [], "init": 0, "trainable": false}},
    "ops": [{"op": "assign", "variable": "n", "in": {"op": "add", "in": ["n", 1]}}, {"out": "y", "op": "add", "in": ["x", "n"]}]})";
  const Model model = read(
      model_text(counter, R"({"out": "y", "op": "neg", "in": {"op": "call", "block": "count", "in": "x"}},
                  {"out": "z", "op": "call", "block": "count", "in": "x", "scope": "gone", "when": 0})"));
  REQUIRE(model.assignments.size() == 1);
  CHECK(model.assignments[0].variable == "count/n");
  CHECK(model.graph.find("y.0") == model.graph.find("count/y"));
  CHECK(model.graph.find("gone/n") == kNoTensor);
}

TEST_CASE("what stands in a block can be named from outside it") {
  const Model model = read(model_text(kFfn, R"({"out": "z", "op": "call", "block": "ffn", "in": "x"},
                                               {"out": "y", "op": "reduce_sum", "in": "ffn/h"})"));
  CHECK(model.graph.tensor(model.graph.producer(model.graph.find("y")).operands[0]).name == "ffn/h");
  // A tensor can be kept under the name of the call that returns it.
  CompileOptions options;
  options.keep = {"z"};
  const Program program = compile(model, read_layout({}), options);
  CHECK(program.find("evaluate")->outputs.size() == 2);
}

TEST_CASE("included files give params, dims and blocks, and the model's own count first") {
  const IncludeSource source = [](const IncludeName& name) -> IncludeText {
    if (name == IncludeName{"parts/a.json", false})
      return {
          R"({"include": ["b.json"], "params": {"gain": 1, "layers": "2 * depth"}, "dims": {"hidden": 5}})"};
    if (name == IncludeName{"parts/b.json", false})
      return {R"({"include": ["std/c.json"], "params": {"depth": 2}, "blocks": {)" + kFfn + "}}"};
    if (name == IncludeName{"std/c.json", true}) return {R"({"include": ["d.json"], "params": {"c": 1}})"};
    if (name == IncludeName{"std/d.json", true}) return {R"({"dims": {"deep": "layers + c"}})"};
    return {{}, "no file " + name.file};
  };
  const Model model = read(R"({"mtfc": 1, "include": ["parts/a.json", "std/d.json"], "params": {"gain": 3},
    "dims": {"batch": 4, "io": 6}, "inputs": {"x": {"dims": ["batch", "io"]}},
    "ops": [{"out": "y", "op": "call", "block": "ffn", "in": "x"}], "outputs": ["y"]})",
                           {"depth=10"}, source);
  CHECK(model.params == std::map<std::string, double>{{"c", 1}, {"depth", 10}, {"gain", 3}, {"layers", 20}});
  CHECK(to_string(model.dims) == "batch=4, io=6, hidden=5, deep=21");
}

TEST_CASE("calls that make calls that make calls end with a message") {
  std::string blocks = R"("b0": {"in": "x", "out": "x", "ops": []})";
  for (int i = 1; i <= 60; ++i)
    blocks += fmt::format(R"(, "b{0}": {{"in": "x", "out": "z", "ops": [
      {{"out": "y", "op": "call", "block": "b{1}", "in": "x", "scope": "l"}},
      {{"out": "z", "op": "call", "block": "b{1}", "in": "y", "scope": "r"}}]}})",
                          i, i - 1);
  try {
    read(model_text(blocks, R"({"out": "y", "op": "call", "block": "b60", "in": "x"})"));
    FAIL("2 ** 60 calls were made");
  } catch (const UserError& error) {
    CHECK(std::string(error.what()).find("make more than 250000 operations") != std::string::npos);
  }
}

}  // namespace mtfc::block_reader_test
