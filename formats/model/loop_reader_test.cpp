#include "formats/model/loop_reader.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>
#include <vector>

#include "core/compile/pipeline.h"
#include "formats/layout/layout_reader.h"
#include "formats/model/model_reader.h"
#include "formats/program/program_reader.h"
#include "formats/program/program_writer.h"

namespace mtfc::loop_reader_test {
namespace {

const std::string kBlocks = R"(
  "dense": {"in": "x", "out": "y", "variables": {"w": {"dims": ["io", "hidden"], "init": "ones"}},
    "ops": [{"out": "h", "op": "einsum", "in": ["x", "w"], "over": "io"},
            {"out": "y", "op": "einsum", "in": ["h", "w"], "over": "hidden"}]},
  "step": {"params": {"gain": 1}, "in": ["x", "n", "x0"], "out": ["y", "m"],
    "variables": {"b": {"dims": ["io"], "init": "zeros"}},
    "ops": [{"out": "d", "op": "call", "block": "dense", "in": "x"},
            {"out": "e", "op": "add", "in": ["d", "b"]},
            {"out": "y", "op": "add", "in": ["e", {"op": "mul", "in": ["x0", {"expr": "gain"}]}]},
            {"out": "m", "op": "add", "in": ["n", 1]}]},
  "small": {"params": {"most": 9}, "in": "x", "out": "go", "variables": {"v": {"dims": [], "init": 1}},
    "ops": [{"out": "go", "op": "less", "in": [{"op": "mul", "in": [{"op": "reduce_sum", "in": "x"}, "v"]}, {"expr": "most"}]}]},
  "nested": {"in": ["x", "x0"], "out": "y",
    "ops": [{"out": ["y", "n"], "op": "while", "cond": "small", "body": "step", "in": ["x", 0, "x0"], "scope": "inner"}]})";

Model read(const std::string& ops, bool f64 = false) {
  const std::string text = fmt::format(R"({{"mtfc": 1, "dims": {{"batch": 4, "io": 6, "hidden": 8}},
    "inputs": {{"x": {{"dims": ["batch", "io"]}}}}, "blocks": {{{},
    "unused": {{"in": "x", "out": "x", "ops": []}}}}, "ops": [{}], "outputs": ["y"]}})",
                                       kBlocks, ops);
  std::vector<Diagnostic> warnings;
  ModelOverrides overrides;
  if (f64) overrides.dtype = DType::kF64;
  return read_model(text, "model.json", {}, warnings, {{}, overrides});
}

std::vector<std::string> variables(const Model& model) {
  std::vector<std::string> list;
  for (const VariableDecl& decl : model.variables) list.push_back(decl.name);
  return list;
}

std::vector<std::string> operands(const Graph& graph, const Node& node) {
  std::vector<std::string> list;
  for (const TensorId id : node.operands) list.push_back(graph.tensor(id).name);
  return list;
}

const Node& made(const Model& model, const std::string& name) {
  return model.graph.producer(model.graph.find(name));
}

using Names = std::vector<std::string>;

const std::string kTimes =
    R"({"out": ["y", "n"], "op": "while", "times": 3, "body": "step", "in": ["x", 0, "x"], "scope": "s"})";
const std::string kCond =
    R"({"out": ["y", "n"], "op": "while", "cond": "small", "body": "step", "in": ["x", 0, "x"],
        "bind": {"gain": 3, "most": 5}, "scope": "s"})";

}  // namespace

TEST_CASE("rounds of a loop of known length share the variables of their blocks") {
  const Model model = read(kTimes);
  CHECK(variables(model) == Names{"s/b", "s/dense/w"});
  for (const char* name : {"s_0/dense/h", "s_1/dense/h", "s_2/dense/h"})
    CHECK(operands(model.graph, made(model, name))[1] == "s/dense/w");
  CHECK(operands(model.graph, made(model, "s_2/e")) == Names{"s_2/dense/y", "s/b"});
  CHECK(operands(model.graph, made(model, "s_1/dense/h"))[0] == "s_0/y");
  CHECK(model.graph.find("y") == model.graph.find("s_2/y"));
}

TEST_CASE("no round passes the inputs through") {
  const Model model =
      read(R"({"out": ["y", "n"], "op": "while", "times": 0, "body": "step", "in": ["x", 0, "x"]})");
  CHECK(model.variables.empty());
  CHECK(model.outputs.front().tensor == model.graph.find("x"));
}

TEST_CASE("variables of the blocks of a loop are operands of it, the same in every round") {
  const Model model = read(kCond);
  CHECK(variables(model) == Names{"s/cond/v", "s/b", "s/dense/w"});
  const Node& loop = made(model, "y");
  REQUIRE(loop.kind == NodeKind::kLoop);
  CHECK(operands(model.graph, loop) == Names{"x", "y.1", "x", "s/cond/v", "s/dense/w", "s/b"});
  const Graph& body = loop.loop->body.graph;
  CHECK(operands(body, body.producer(body.find("s/dense/h"))) == Names{leaf_name(0), leaf_name(4)});
  CHECK(operands(body, body.producer(body.find("s/e"))) == Names{"s/dense/y", leaf_name(5)});
  CHECK(body.constant_value(body.find("s/y.1.1")) == 3.0);
  const Graph& condition = loop.loop->condition.graph;
  CHECK(condition.constant_value(condition.find("s/cond/go.1")) == 5.0);
  CHECK(model.graph.find("s/dense/h") == kNoTensor);
}

TEST_CASE("loops nest, and an inner one has its variables through the outer ones") {
  const std::string outer =
      R"({"out": "y", "op": "while", COUNT, "body": "nested", "in": ["x", "x"], "scope": "o"})";
  std::string times = outer, cond = outer;
  times.replace(outer.find("COUNT"), 5, R"("times": 2)");
  cond.replace(outer.find("COUNT"), 5, R"("cond": "small")");
  const Model counted = read(times);
  CHECK(variables(counted) == Names{"o/inner/cond/v", "o/inner/b", "o/inner/dense/w"});
  for (const char* name : {"o_0/y", "o_1/y"})
    CHECK(operands(counted.graph, made(counted, name)).back() == "o/inner/b");

  const Model open = read(cond);
  CHECK(variables(open) == Names{"o/cond/v", "o/inner/cond/v", "o/inner/b", "o/inner/dense/w"});
  const Node& loop = made(open, "y");
  CHECK(operands(open.graph, loop) ==
        Names{"x", "x", "o/cond/v", "o/inner/cond/v", "o/inner/dense/w", "o/inner/b"});
  const Graph& body = loop.loop->body.graph;
  const Node& inner = body.producer(body.find("o/y"));
  REQUIRE(inner.kind == NodeKind::kLoop);
  CHECK(operands(body, inner) ==
        Names{leaf_name(0), "o/y.1", leaf_name(1), leaf_name(3), leaf_name(4), leaf_name(5)});
}

TEST_CASE("a carried tensor that begins as a variable is not that variable") {
  const Model model = read(R"({"out": "z", "op": "call", "block": "small", "in": "x", "scope": "k"},
    {"out": ["y", "n"], "op": "while", "cond": "small", "body": "step", "in": ["x", "k/v", "x"], "scope": "s"})");
  CHECK(operands(model.graph, made(model, "y"))[1] == "k/v");
  const Graph& body = made(model, "y").loop->body.graph;
  CHECK(operands(body, body.producer(body.find("s/m")))[0] == leaf_name(1));
}

TEST_CASE("f64 reaches into loops") {
  const Model model = read(kCond, true);
  const Node& loop = made(model, "y");
  for (const LoopPart* part : {&loop.loop->condition, &loop.loop->body})
    for (const Tensor& tensor : part->graph.tensors()) {
      CAPTURE(tensor.name);
      CHECK(tensor.type.dtype != DType::kF32);
    }
}

TEST_CASE("a saved program has its loops, and says what it can't count") {
  LayoutSources layout;
  layout.mesh = "p:2";
  layout.rules = "batch:p";
  const Program open = compile(read(kCond), read_layout(layout), {});
  CHECK(open.warnings ==
        Names{"the loop that makes 'y' runs for as long as its condition holds; one round of it is counted"});
  const std::string text = program_json(open);
  const Program again = read_program(text, "program.json");
  CHECK(program_json(again) == text);
  CHECK(again.warnings == open.warnings);
  CHECK(compile(read(kTimes), read_layout(layout), {}).warnings.empty());
}

}  // namespace mtfc::loop_reader_test
