#include "formats/model/model_reader.h"

#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "core/graph/op_registry.h"
#include "core/model/optimizer.h"

namespace mtfc::model_reader_test {

namespace {

Model read(const std::string& text, const std::vector<std::string>& sets = {}) {
  std::vector<Diagnostic> warnings;
  return read_model(text, "dir/two.json", sets, warnings);
}

// A model with the dimensions batch, io and hidden, an input x, and `rest`.
std::string with(const std::string& rest, const std::string& more_dims = "") {
  return R"({"mtfc": 1, "params": {"lr": 0.1, "scale": "hidden ** -0.5"},
             "dims": {)" +
         more_dims + R"("hidden": "io * 2 + 4", "batch": 4, "io": 6},
             "inputs": {"x": {"dims": ["batch", "io"]}, "i": {"dims": ["batch"], "dtype": "i32"}}, )" +
         rest + "}";
}

TensorType type_of(const Model& model, const std::string& name) {
  const TensorId id = model.graph.find(name);
  REQUIRE(id != kNoTensor);
  return model.graph.type(id);
}

}  // namespace

TEST_CASE("random numbers, operations without operands and operations with several results") {
  const Model model = read(with(R"("ops": [
    {"out": "u", "op": "random_uniform", "dims": ["batch", "io"]},
    {"out": "n", "op": "random_normal", "dims": ["io"], "dtype": "f64"},
    {"out": "t", "op": "random_truncated_normal", "dims": []},
    {"out": "r", "op": "range", "dim": "hidden"},
    {"out": "d", "op": "dropout", "in": {"op": "add", "in": ["u", "x"]}, "rate": "lr * 2"},
    {"out": ["values", "indices"], "op": "top_k", "in": "d", "dim": "io", "k": "batch", "to": "few"},
    {"out": "h", "op": "one_hot", "in": "indices", "dim": "io"},
    {"out": "s", "op": "cumsum", "in": "h", "dim": "io", "exclusive": "batch / 8"},
    {"out": "s2", "op": "cumsum", "in": "h", "dim": "io", "exclusive": "batch > 4"}],
    "outputs": ["n", "t", "r", "values", "s", "s2"])",
                                R"("few": "batch", )"));
  CHECK(to_string(type_of(model, "u")) == "f32[batch=4, io=6]");
  CHECK(to_string(type_of(model, "n")) == "f64[io=6]");
  CHECK(to_string(type_of(model, "t")) == "f32[]");
  CHECK(to_string(type_of(model, "r")) == "i32[hidden=16]");
  CHECK(model.graph.producer(model.graph.find("d")).attributes.get<double>("rate") == doctest::Approx(0.2));
  CHECK(model.graph.producer(model.graph.find("s")).attributes.get<bool>("exclusive"));
  CHECK_FALSE(model.graph.producer(model.graph.find("s2")).attributes.get<bool>("exclusive"));
  CHECK(to_string(type_of(model, "values")) == "f32[batch=4, few=4]");
  CHECK(to_string(type_of(model, "indices")) == "i32[batch=4, few=4]");
  CHECK(to_string(type_of(model, "s")) == "f32[batch=4, few=4, io=6]");
}

TEST_CASE("literals as indices, positions and conditions have a dtype of their own") {
  const Model model = read(with(R"(
  "ops": [
    {"out": "a", "op": "gather", "in": ["x", 3], "dim": "io"},
    {"out": "b", "op": "update_slice", "in": ["x", {"op": "gather", "in": ["x", 0], "dim": "io"}, 5], "dim": "io"},
    {"out": "c", "op": "update_slice", "in": [{"op": "cast", "in": "x", "dtype": "i64"},
                                              {"op": "cast", "in": "a", "dtype": "i64"}, 5], "dim": "io"},
    {"out": "d", "op": "one_hot", "in": {"expr": "io - 1"}, "dim": "io"},
    {"out": "e", "op": "where", "in": [{"expr": "lr > 0"}, "x", 0.5]},
    {"out": "f", "op": "softmax_cross_entropy", "in": ["x", 2], "over": "io"},
    {"out": "g", "op": "scatter_add", "in": ["a", 5], "dim": "io"},
    {"out": "h", "op": "where", "in": [1, "i", 2]}])"));
  const auto literal = [&](const char* name) { return to_string(type_of(model, name)); };
  for (const char* index : {"a.1", "b.1.1", "b.2", "c.2", "d.0", "f.1", "g.1"}) {
    CAPTURE(index);
    CHECK(literal(index) == "i32[]");
  }
  CHECK(literal("e.0") == "bool[]");
  CHECK(literal("e.2") == "f32[]");
  CHECK(literal("h.0") == "bool[]");
  CHECK(literal("h.2") == "i32[]");
  CHECK(to_string(type_of(model, "g")) == "f32[io=6, batch=4]");
}

TEST_CASE("a whole model") {
  const Model model = read(with(R"(
    "variables": {"w": {"dims": ["io", "hidden"], "init": {"normal": "lr / 2"}}},
    "ops": [{"out": "h", "op": "relu", "in": {"op": "mul", "in": ["x", "w"]}, "doc": "…"},
            {"out": "loss", "op": "reduce_mean", "in": "h"}],
    "train": {"loss": "loss", "optimizer": {"kind": "sgd", "lr": "2 * lr"}},
    "data": {"x": "random:normal"})"));
  CHECK(model.name == "two");
  CHECK(model.file == "dir/two.json");
  CHECK(to_string(model.dims) == "hidden=16, batch=4, io=6");
  REQUIRE(model.inputs.size() == 2);
  CHECK(model.inputs[0].source == "random:normal");
  CHECK(model.inputs[0].source_location.pointer == "/data/x");
  REQUIRE(model.variables.size() == 1);
  CHECK(model.variables[0].trainable);
  CHECK(model.variables[0].init == Init{InitKind::kNormal, 0.05, 0});
  CHECK(to_string(type_of(model, "h")) == "f32[batch=4, io=6, hidden=16]");
  CHECK(model.graph.tensor(model.graph.find("h.0")).from_model);
  const Node& node = model.graph.producer(model.graph.find("h.0"));
  CHECK(node.origin->name == "h.0");
  CHECK(node.origin->location.pointer == "/ops/0/in");
  REQUIRE(model.train);
  CHECK(model.train->loss == model.graph.find("loss"));
  CHECK(model.train->optimizer == "sgd");
  CHECK(model.train->numbers.at("lr") == doctest::Approx(0.2));
  REQUIRE(model.outputs.size() == 1);
  CHECK(model.outputs[0].name == "loss");
}

TEST_CASE("sets come before everything is computed") {
  const Model model = read(with(R"("ops": [{"out": "y", "op": "mul", "in": ["x", {"expr": "scale"}]}])"),
                           {"io=3", "hidden=batch ** 2"});
  CHECK(to_string(model.dims) == "hidden=16, batch=4, io=3");
  CHECK(model.graph.constant_value(model.graph.find("y.1")) == 0.25);
}

TEST_CASE("literals take the dtype of the first tensor that is no bool") {
  const Model model = read(with(R"("ops": [
    {"out": "a", "op": "add", "in": [1, "i"]},
    {"out": "b", "op": "where", "in": [{"op": "equal", "in": ["i", 1]}, 2, "i"]},
    {"out": "c", "op": "where", "in": [{"op": "equal", "in": ["i", 1]}, 2.5, -1e9]}])"));
  CHECK(type_of(model, "a.0").dtype == DType::kI32);
  CHECK(type_of(model, "b.1").dtype == DType::kI32);
  CHECK(type_of(model, "b.0.1").dtype == DType::kI32);
  CHECK(type_of(model, "c").dtype == DType::kF32);
}

TEST_CASE("when chooses among definitions") {
  const std::string rest = R"("variables": {"v": {"dims": ["io"], "when": "lr > 1"}}, "ops": [
    {"out": "a", "op": "exp", "in": "v", "when": "lr > 1"},
    {"out": "a", "op": "neg", "in": "x", "when": "not lr > 1"},
    {"out": "b", "op": "exp", "in": "a"}])";
  CHECK(to_string(type_of(read(with(rest)), "b")) == "f32[batch=4, io=6]");
  CHECK(to_string(type_of(read(with(rest), {"lr=2"}), "b")) == "f32[io=6]");
  CHECK(read(with(rest)).variables.empty());
}

TEST_CASE("gradients and assignments") {
  const Model model = read(with(R"(
    "variables": {"w": {"dims": ["io"], "init": 1}, "steps": {"dims": [], "dtype": "i32", "init": "zeros"}},
    "ops": [{"out": "loss", "op": "reduce_sum", "in": {"op": "mul", "in": ["x", "w"]}},
            {"out": ["gw", "gx"], "op": "gradients", "of": "loss", "in": ["w", "x"]},
            {"op": "assign", "variable": "w", "in": {"op": "sub", "in": ["w", "gw"]}},
            {"op": "assign", "variable": "steps", "in": {"op": "add", "in": ["steps", 1]}}],
    "outputs": ["gx", "w"])"));
  CHECK(to_string(type_of(model, "gx")) == "f32[batch=4, io=6]");
  CHECK(model.graph.producer(model.graph.find("gw")).kind == NodeKind::kGradients);
  REQUIRE(model.assignments.size() == 2);
  CHECK(model.graph.tensor(model.assignments[0].value).name == "w/assign.0");
  CHECK_FALSE(model.variables[1].trainable);
  CHECK(model.outputs.size() == 2);
  CHECK_FALSE(model.train);
}

TEST_CASE("initial values") {
  const Model model = read(with(R"("variables": {
    "a": {"dims": ["io", "hidden"], "init": {"variance_scaling": {"in": ["io"]}}},
    "b": {"dims": ["io", "hidden"], "init": {"variance_scaling": {"in": ["io"], "mode": "fan_avg", "scale": 2}}},
    "c": {"dims": ["io", "hidden"], "init": {"variance_scaling": {"in": ["io"], "mode": "fan_out"}}},
    "d": {"dims": ["io"], "init": {"uniform": ["-lr", "lr"]}},
    "e": {"dims": ["io"], "init": {"truncated_normal": 0.5}},
    "f": {"dims": ["io"], "dtype": "bool", "init": "ones"},
    "g": {"dims": []}})"));
  const double cut = 0.87962566103423978;
  CHECK(model.variables[0].init->kind == InitKind::kTruncatedNormal);
  CHECK(model.variables[0].init->a == doctest::Approx(std::sqrt(1.0 / 6) / cut));
  CHECK(model.variables[1].init->a == doctest::Approx(std::sqrt(2.0 / 11) / cut));
  CHECK(model.variables[2].init->a == doctest::Approx(std::sqrt(1.0 / 16) / cut));
  CHECK(model.variables[3].init == Init{InitKind::kUniform, -0.1, 0.1});
  CHECK(model.variables[4].init == Init{InitKind::kTruncatedNormal, 0.5, 0});
  CHECK(model.variables[5].init == Init{InitKind::kConstant, 1, 0});
  CHECK_FALSE(model.variables[6].init);
}

TEST_CASE("a chain of definitions may be long") {
  std::string dims = "\"d0\": 1";
  for (int i = 1; i <= 20000; ++i)
    dims = "\"d" + std::to_string(i) + "\": \"d" + std::to_string(i - 1) + " + 1\", " + dims;
  CHECK(read("{\"mtfc\": 1, \"dims\": {" + dims + "}}").dims.front().size == 20001);
}

TEST_CASE("f64 in place of f32") {
  std::vector<Diagnostic> warnings;
  const std::string text = with(R"("variables": {
    "w": {"dims": ["io"], "init": {"normal": 0.1}},
    "n": {"dims": ["io"], "dtype": "i64", "init": 1}},
  "ops": [
    {"out": "u", "op": "random_uniform", "dims": ["io"]},
    {"out": "h", "op": "one_hot", "in": "i", "dim": "io"},
    {"out": "c", "op": "cast", "in": "n", "dtype": "f32"},
    {"out": "r", "op": "range", "dim": "io"},
    {"out": "big", "op": "add", "in": ["w", 1e300]},
    {"out": "s", "op": "dropout", "in": {"op": "add", "in": ["x", "u"]}, "rate": 0.5}],
    "outputs": ["h", "c", "r", "big", "s"])");
  CHECK_THROWS(read_model(text, "dir/two.json", {}, warnings));  // f32 can't hold 1e300
  const Model model = read_model(text, "dir/two.json", {}, warnings, {.overrides = {{}, DType::kF64}});
  for (const char* name : {"x", "w", "u", "h", "c", "big", "s"}) {
    CAPTURE(name);
    CHECK(type_of(model, name).dtype == DType::kF64);
  }
  CHECK(type_of(model, "n").dtype == DType::kI64);
  CHECK(type_of(model, "i").dtype == DType::kI32);
  CHECK(type_of(model, "r").dtype == DType::kI32);
  CHECK(model.inputs[0].type.dtype == DType::kF64);
  CHECK(model.variables[0].type.dtype == DType::kF64);
}

TEST_CASE("another optimizer in place of the model's keeps its rate alone") {
  const auto trained = [](const std::string& lr, const std::string& kind) {
    std::vector<Diagnostic> warnings;
    const std::string text = with(R"("variables": {"w": {"dims": ["io"], "init": "ones"}},
      "ops": [{"out": "loss", "op": "reduce_mean", "in": {"op": "mul", "in": ["x", "w"]}}],
      "train": {"loss": "loss", "clip_norm": 2, "no_decay": ["w"],
                "optimizer": {"kind": "adamw", "beta1": 0.5, "weight_decay": 0.25, "lr": )" +
                                  lr + "}}");
    const TrainSpec spec = *read_model(text, "dir/two.json", {}, warnings, {.overrides = {kind, {}}}).train;
    CHECK(warnings.size() == 1);  // about the unused input i
    CHECK(spec.optimizer == kind);
    CHECK(spec.clip_norm == 2);
    CHECK(spec.no_decay == std::set<std::string>{"w"});
    return spec;
  };
  CHECK(trained("0.125", "sgd").numbers == Settings{{"lr", 0.125}});
  CHECK(trained("0.125", "momentum").numbers == Settings{{"lr", 0.125}, {"momentum", 0.9}});
  CHECK(trained("0.125", "adam").numbers ==
        Settings{{"lr", 0.125}, {"beta1", 0.9}, {"beta2", 0.999}, {"eps", 1e-8}});
  CHECK(trained("0.125", "adamw").numbers ==
        Settings{{"lr", 0.125}, {"beta1", 0.5}, {"beta2", 0.999}, {"eps", 1e-8}, {"weight_decay", 0.25}});
  const TrainSpec scheduled = trained(R"({"schedule": "rsqrt", "peak": 3, "warmup": "io"})", "sgd");
  CHECK(scheduled.numbers == Settings{{"lr", 1}});
  CHECK(scheduled.schedules == std::vector<Schedule>{{ScheduleKind::kRsqrt, 3, 6}});
  const TrainSpec product = trained(R"({"product": ["io", {"schedule": "rsqrt", "peak": 3, "hold": 7}, 0.5,
                              {"schedule": "cosine", "peak": 1, "hold": 2, "steps": "io"}]})",
                                    "adam");
  CHECK(product.numbers.at("lr") == 3);
  CHECK(product.schedules ==
        std::vector<Schedule>{{ScheduleKind::kRsqrt, 3, 0, 0, 0, 7}, {ScheduleKind::kCosine, 1, 0, 6, 0, 2}});
}

// Reads the optimizer of a model with experts, and returns what it says of the variables.
TrainSpec of_experts(const std::string& optimizer, const std::optional<std::string>& kind = std::nullopt) {
  std::vector<Diagnostic> warnings;
  return *read_model(R"({"mtfc": 1, "dims": {"e": 300, "c": 2, "m": 128, "h": 200, "v": 500},
    "inputs": {"x": {"dims": ["e", "c", "m"]}},
    "variables": {"moe/wi": {"dims": ["e", "m", "h"], "init": "ones"}, "out/w": {"dims": ["h", "v"], "init": "ones"},
                  "out/bias": {"dims": ["e", "v"], "init": "ones"}},
    "ops": [{"out": "y", "op": "einsum", "in": [{"op": "einsum", "in": ["x", "moe/wi"], "over": "m"}, "out/w"], "over": "h"},
            {"out": "loss", "op": "reduce_mean", "in": {"op": "add", "in": ["y", "out/bias"]}}],
    "train": {"loss": "loss", "optimizer": )" +
                         optimizer + "}}",
                     "experts.json", {}, warnings, {.overrides = {kind, {}}})
              .train;
}

TEST_CASE("the dimensions that adafactor factors: by size, never over experts, or as the model says") {
  const auto factored = [](const std::string& more, const std::string& kind = "adafactor",
                           const std::optional<std::string>& instead = std::nullopt) {
    std::string text;
    for (const auto& [name, dims] :
         of_experts(R"({"kind": ")" + kind + R"(", "lr": 1)" + more + "}", instead).factored)
      text += name + ": " + dims.first.name + " " + dims.second.name + "; ";
    return text;
  };
  const std::string by_default = "moe/wi: m h; out/bias: e v; out/w: h v; ";
  CHECK(factored("") == by_default);
  CHECK(factored("", "adamw", "adafactor") == by_default);
  CHECK(factored("", "adamw") == "");
  CHECK(factored(R"(, "factored": {"*": []})", "adafactor", "adam") == "");
  CHECK(factored(R"(, "least_factored": 129)") == "out/bias: e v; out/w: h v; ");
  CHECK(factored(R"(, "least_factored": 501)") == "");
  CHECK(factored(R"(, "factored": {"*": ["h", "e"], "out/*": []})") == "moe/wi: e h; ");
  CHECK(factored(R"(, "factored": {"out/bias": []})") == "moe/wi: m h; out/w: h v; ");
}

TEST_CASE("variables have factors of their rate by patterns, of which the last one decides") {
  const TrainSpec spec = of_experts(
      R"({"kind": "sgd", "lr": 1, "lr_factors": {"*": 2, "out/*": {"product": [3, {"schedule": "linear", "peak": 1, "steps": "m"}]}, "out/bias": "m"}})");
  const LearningRate scheduled{3, {{ScheduleKind::kLinear, 1, 0, 128}}};
  CHECK(spec.lr_factors ==
        std::map<std::string, LearningRate>{{"moe/wi", {2}}, {"out/w", scheduled}, {"out/bias", {128}}});
}

TEST_CASE("patterns of no_decay") {
  const auto spared = [](const std::string& patterns) {
    std::vector<Diagnostic> warnings;
    const std::string text = with(R"("variables": {
        "bias": {"dims": ["io"], "init": "ones"}, "a/bias": {"dims": ["io"], "init": "ones"},
        "a/b/bias": {"dims": ["io"], "init": "ones"}, "a/b/biases": {"dims": ["io"], "init": "ones"},
        "fixed/bias": {"dims": ["io"], "init": "ones", "trainable": false}},
      "ops": [{"out": "loss", "op": "reduce_mean", "in": {"op": "einsum", "dims": ["io"],
               "in": ["x", "bias", "a/bias", "a/b/bias", "a/b/biases", "fixed/bias"]}}],
      "train": {"loss": "loss", "optimizer": {"kind": "adamw", "lr": 1, "no_decay": [)" +
                                  patterns + "]}}");
    return read_model(text, "dir/two.json", {}, warnings).train->no_decay;
  };
  using Names = std::set<std::string>;
  CHECK(spared("") == Names{});
  CHECK(spared(R"("bias")") == Names{"bias"});
  CHECK(spared(R"("*/bias")") == Names{"a/bias", "a/b/bias"});
  CHECK(spared(R"("*bias")") == Names{"bias", "a/bias", "a/b/bias"});
  CHECK(spared(R"("a/*/bias*")") == Names{"a/b/bias", "a/b/biases"});
  CHECK(spared(R"("*b*a*s", "**/biases")") == Names{"bias", "a/bias", "a/b/bias", "a/b/biases"});
  CHECK(spared(R"("*")").size() == 4);
}

TEST_CASE("a model that does not train has no optimizer to replace") {
  std::vector<Diagnostic> warnings;
  CHECK_THROWS_WITH(
      read_model(with(R"("ops": [{"out": "y", "op": "exp", "in": "x"}], "outputs": ["y"])"), "dir/two.json",
                 {}, warnings, {.overrides = {"sgd", {}}}),
      "error: --optimizer: the model does not train (it needs \"train\" with a loss and an optimizer)");
}

}  // namespace mtfc::model_reader_test
