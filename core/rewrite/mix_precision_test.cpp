#include "core/rewrite/mix_precision.h"

#include <doctest/doctest.h>

#include "core/graph/op_registry.h"
#include "core/op_rules/example.h"
#include "core/rewrite/expand_gradients.h"
#include "core/rewrite/remove_dead.h"

namespace mtfc::mix_precision_test {
namespace {

const Dim kBatch = dim_of("batch=5"), kIn = dim_of("io=7"), kOut = dim_of("classes=3");

TensorId named(GraphBuilder& b, const std::string& name, std::string_view op, std::vector<TensorId> operands,
               Attributes attributes = {}) {
  return b.add(op_named(op), std::move(operands), std::move(attributes), {name})[0];
}

// A layer with a residual and a norm, logits and their loss.
struct Classifier {
  Model model;
  Classifier() {
    GraphBuilder b;
    const TensorId x = b.add_input("x", {DType::kF32, {kBatch, kIn}});
    const TensorId labels = b.add_input("labels", {DType::kI32, {kBatch}});
    const Dim hidden = dim_of("hidden=7");
    const TensorId w = b.add_variable("w", {DType::kF32, {kIn, hidden}});
    const TensorId bias = b.add_variable("bias", {DType::kF32, {hidden}});
    const TensorId v = b.add_variable("v", {DType::kF32, {hidden, kOut}});
    const TensorId h = named(b, "h", "einsum", {x, w}, {{"over", Dims{kIn}}});
    const TensorId moved = named(b, "moved", "add", {h, bias});
    b.alias(moved, "shifted");
    const TensorId normed =
        b.add(*find_composite("layer_norm"), {moved}, {{"over", Dims{hidden}}}, {"normed"})[0];
    const TensorId mean = named(b, "mean", "reduce_mean", {normed}, {{"over", Dims{hidden}}});
    const TensorId centred = named(b, "centred", "sub", {normed, mean});
    const TensorId logits = named(b, "logits", "einsum", {centred, v}, {{"over", Dims{hidden}}});
    const TensorId scaled = named(b, "scaled", "mul", {logits, b.constant(0.5, DType::kF32)});
    const TensorId each = b.add(*find_composite("softmax_cross_entropy"), {scaled, labels},
                                {{"over", Dims{kOut}}}, {"each"})[0];
    model.train = TrainSpec{named(b, "loss", "reduce_mean", {each}), "sgd", {}};
    model.outputs = {{"logits", logits}};
    model.graph = std::move(b).build();
  }

  DType dtype(const std::string& name) const { return model.graph.type(model.graph.find(name)).dtype; }
};

TEST_CASE("products and activations are bf16; variables, statistics, logits and the loss f32") {
  Classifier mixed;
  mixed.model = mix_precision(std::move(mixed.model), {});
  for (const char* name : {"h", "moved", "normed", "w/bf16", "v/bf16", "bias/bf16", "x/bf16"}) {
    CAPTURE(name);
    CHECK(mixed.dtype(name) == DType::kBF16);
  }
  // An f32 mean makes the results f32 that it enters, until a product takes them.
  for (const char* name : {"x", "w", "bias", "mean", "centred", "logits", "scaled", "each", "loss"}) {
    CAPTURE(name);
    CHECK(mixed.dtype(name) == DType::kF32);
  }
  const Graph& graph = mixed.model.graph;
  CHECK(graph.type(graph.producer(graph.find("logits")).operands[0]).dtype == DType::kBF16);
  CHECK(mixed.model.train->loss == graph.find("loss"));
  CHECK(mixed.model.outputs[0].tensor == graph.find("logits"));
}

TEST_CASE("a pattern matches further names of a tensor") {
  for (const bool is_asked : {false, true}) {
    Classifier mixed;
    Precision precision;
    if (is_asked) precision.tensors = {{"shift*", DType::kF32}};
    mixed.model = mix_precision(std::move(mixed.model), precision);
    CHECK(mixed.dtype("moved") == (is_asked ? DType::kF32 : DType::kBF16));
  }
}

TEST_CASE("the first pattern that matches a tensor decides") {
  Classifier mixed;
  mixed.model =
      mix_precision(std::move(mixed.model),
                    {.tensors = {{"moved", DType::kF32}, {"logits", DType::kBF16}, {"**", DType::kF32}}});
  for (const char* name : {"h", "moved", "normed"}) {
    CAPTURE(name);
    CHECK(mixed.dtype(name) == DType::kF32);
  }
  CHECK(mixed.dtype("logits") == DType::kBF16);
  CHECK(mixed.dtype("each") == DType::kF32);
}

TEST_CASE("tensors of other dtypes stay as they are, and a variable keeps what is assigned to it") {
  GraphBuilder b;
  const TensorId wide = b.add_input("wide", {DType::kF64, {kBatch}});
  const TensorId x = b.add_input("x", {DType::kF32, {kBatch, kIn}});
  const TensorId w = b.add_variable("w", {DType::kF32, {kIn}});
  const TensorId product = named(b, "product", "einsum", {x, w}, {{"over", Dims{kIn}}});
  const TensorId twice = named(b, "twice", "add", {wide, wide});
  Model model;
  model.variables = {{"seen", {DType::kF32, {kBatch}}, Init{}, false, false, {}}};
  model.outputs = {{"twice", twice}};
  model.assignments = {{"seen", product, {}}};
  model.graph = std::move(b).build();
  const Model mixed = mix_precision(std::move(model), {});
  CHECK(mixed.graph.type(mixed.outputs[0].tensor).dtype == DType::kF64);
  CHECK(mixed.graph.type(mixed.assignments[0].value).dtype == DType::kF32);
  CHECK(mixed.graph.type(mixed.graph.find("product")).dtype == DType::kBF16);
}

TEST_CASE("gradients of variables are kept as they are before they are rounded") {
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    CAPTURE(to_string(dtype));
    GraphBuilder b;
    const TensorId x = b.add_input("x", {DType::kF32, {kBatch, kIn}});
    const TensorId w = b.add_variable("w", {DType::kF32, {kIn}});
    const TensorId y = named(b, "y", "einsum", {x, w}, {{"over", Dims{kIn}}});
    const TensorId loss = named(b, "loss", "reduce_sum", {y});
    const TensorId gradient = b.add_gradients(loss, {w}, {"w/grad"})[0];
    Model model;
    model.outputs = {{"w/grad", gradient}};
    model.graph = std::move(b).build();
    const Model mixed = mix_precision(std::move(model), {.gradients = dtype});
    EntryGraph entry{.name = "evaluate", .graph = mixed.graph, .outputs = mixed.outputs, .assignments = {}};
    entry = remove_dead(expand_gradients(std::move(entry)));
    const Node& made = entry.graph.producer(entry.outputs[0].tensor);
    CHECK(made.op == &op_named(dtype == DType::kF32 ? "einsum" : "cast"));
    CHECK(entry.graph.type(entry.outputs[0].tensor).dtype == DType::kF32);
  }
}

TEST_CASE("what is gathered from a variable is an activation") {
  GraphBuilder b;
  const TensorId tokens = b.add_input("tokens", {DType::kI32, {kBatch}});
  const TensorId table = b.add_variable("table", {DType::kF32, {kOut, kIn}});
  const TensorId found = named(b, "found", "gather", {table, tokens}, {{"dim", kOut}});
  Model model;
  model.outputs = {{"found", found}};
  model.graph = std::move(b).build();
  const Model mixed = mix_precision(std::move(model), {});
  CHECK(mixed.outputs[0].tensor == mixed.graph.find("found"));
  CHECK(mixed.graph.type(mixed.outputs[0].tensor).dtype == DType::kBF16);
  CHECK(mixed.graph.type(mixed.graph.find("table")).dtype == DType::kF32);
}

TEST_CASE("a constant beyond bf16 becomes its largest number, and casts leave names of the model alone") {
  GraphBuilder b;
  const TensorId x = b.add_input("x", {DType::kF32, {kBatch, kIn}});
  const TensorId seen = b.add_input("seen", {DType::kBool, {kBatch}});
  const TensorId w = b.add_variable("w", {DType::kF32, {kIn}});
  const TensorId product = named(b, "product", "einsum", {x, w}, {{"over", Dims{kIn}}});
  const TensorId lowest =
      named(b, "lowest", "constant", {}, {{"value", -3.4028234e38}, {"dtype", DType::kF32}});
  const TensorId masked = named(b, "masked", "where", {seen, product, lowest}, {{"dims", Dims{kBatch}}});
  const TensorId other = named(b, "w/bf16", "neg", {w});
  Model model;
  model.outputs = {{"masked", masked}, {"w/bf16", other}};
  model.graph = std::move(b).build();
  const Model mixed = mix_precision(std::move(model), {});
  const Graph& graph = mixed.graph;
  CHECK(graph.constant_value(graph.producer(mixed.outputs[0].tensor).operands[2]) == -kLargestBf16);
  CHECK(mixed.outputs[1].tensor == graph.find("w/bf16"));
  CHECK(graph.producer(graph.find("w/bf16")).op == &op_named("neg"));
}

}  // namespace
}  // namespace mtfc::mix_precision_test
