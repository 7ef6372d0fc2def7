// Tests which collectives a model gets under a layout, and where.

#include "core/compile/pipeline.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>

#include "core/cost/cost.h"
#include "core/graph/op_registry.h"
#include "core/model/entry_points.h"
#include "core/program/buffer_check.h"
#include "core/testing/test_model.h"

namespace mtfc::pipeline_test {
namespace {

// The collectives of an entry point in order, with their elements: `all_reduce rows 256, exchange cols 12`.
std::string collectives(const Program& program, const std::string& entry_name = "evaluate") {
  const EntryPoint& entry = *program.find(entry_name);
  const std::vector<StepCount> counts = predicted_counts(program, entry);
  std::string text;
  for (size_t s = 0; s < entry.steps.size(); ++s) {
    const Step& step = entry.steps[s];
    if (step.kind() != StepKind::kStart) continue;
    text += fmt::format("{}{} {} {}", text.empty() ? "" : ", ", to_string(step.collective().kind),
                        program.mesh().names(step.collective().axes), counts[s].elements);
  }
  return text;
}

const Mesh kLine({{"p", 4}});
const Mesh kSquare({{"r", 2}, {"c", 2}});
const Dims kM{{"m", 16}}, kN{{"n", 16}}, kK{{"k", 32}}, kL{{"l", 8}};

TEST_CASE("two products split over the contracted dimension and added share one all_reduce") {
  TestModel model;
  const TensorId a = model.input("a", {{"m", 16}, {"k", 32}}), w = model.input("w", {{"k", 32}, {"n", 16}});
  const TensorId b = model.input("b", {{"m", 16}, {"k", 32}}), v = model.input("v", {{"k", 32}, {"n", 16}});
  const Attributes dims{{"dims", Dims{{"m", 16}, {"n", 16}}}};
  model.output(
      model.op("sum", "add", {model.op("x", "einsum", {a, w}, dims), model.op("y", "einsum", {b, v}, dims)}));
  CHECK(collectives(model.compiled(kLine, {{"k", {0}}})) == "all_reduce p 256");
}

TEST_CASE("a partial sum is reduced where that sends least") {
  const auto compiled = [](bool tail_is_output) {
    TestModel model;
    const TensorId a = model.input("a", {{"m", 16}, {"k", 32}}), w = model.input("w", {{"k", 32}, {"n", 16}});
    const TensorId x = model.op("x", "einsum", {a, w}, {{"dims", Dims{{"m", 16}, {"n", 16}}}});
    const TensorId s = model.op("s", "reduce_sum", {x}, {{"over", Dims{{"n", 16}}}});
    model.output(s);
    if (tail_is_output) model.output(model.op("t", "tanh", {x}));
    return model.compiled(kLine, {{"k", {0}}});
  };
  CHECK(collectives(compiled(false)) == "all_reduce p 16");  // after the sum
  CHECK(collectives(compiled(true)) ==
        "all_reduce p 256");  // the sum follows from x, which is needed whole anyway
}

TEST_CASE("what flows through a constant zero, a scale and a choice stays partial") {
  TestModel model;
  const TensorId a = model.input("a", {{"m", 16}, {"k", 32}}), w = model.input("w", {{"k", 32}, {"n", 16}});
  const TensorId mask = model.input("mask", {{"m", 16}, {"n", 16}}, DType::kBool);
  const TensorId x = model.op("x", "einsum", {a, w}, {{"dims", Dims{{"m", 16}, {"n", 16}}}});
  const TensorId zero = model.op("zero", "constant", {}, {{"value", 0.0}, {"dtype", DType::kF32}});
  const TensorId chosen = model.op("chosen", "where", {mask, x, zero});
  model.output(model.op("s", "reduce_sum", {chosen}));
  CHECK(collectives(model.compiled(kLine, {{"k", {0}}})) == "all_reduce p 1");
}

TEST_CASE("partial sums stay so through pieces and joins, but not beside numbers that are filled in") {
  const auto collectives_of = [](double fill) {
    TestModel model;
    const TensorId a = model.input("a", {{"m", 16}, {"k", 32}}), b = model.input("b", {{"m", 16}, {"k", 32}});
    const Attributes over{{"over", Dims{{"k", 32}}}};
    const TensorId x = model.op("x", "reduce_sum", {a}, over), y = model.op("y", "reduce_sum", {b}, over);
    model.declare({{"both", 32}, {"more", 40}});
    const TensorId both =
        model.op("both", "concat", {x, y}, {{"dim", Dims{{"m", 16}}}, {"to", Dim{"both", 32}}});
    const TensorId more =
        model.op("more", "pad", {both},
                 {{"dim", Dim{"both", 32}}, {"high", int64_t{8}}, {"to", Dim{"more", 40}}, {"value", fill}});
    model.output(model.op("total", "reduce_sum", {more}));
    return collectives(model.compiled(kLine, {{"k", {0}}}));
  };
  CHECK(collectives_of(1) == "all_reduce p 32");
  CHECK(collectives_of(0) == "all_reduce p 1");
}

TEST_CASE("a partial sum that is wanted split is reduce-scattered") {
  TestModel model;
  const TensorId a = model.input("a", {{"m", 16}, {"k", 32}}), w = model.input("w", {{"k", 32}, {"n", 16}});
  const TensorId x = model.op("x", "einsum", {a, w}, {{"dims", Dims{{"m", 16}, {"n", 16}}}});
  model.declare({{"rows", 16}});
  model.output(model.op("y", "rename", {x}, {{"map", std::vector<Renaming>{{"m", {"rows", 16}}}}}));
  CHECK(collectives(model.compiled(kLine, {{"k", {0}}, {"rows", {0}}})) == "reduce_scatter p 256");
}

TEST_CASE("renaming a split dimension gathers, slices or exchanges just what it takes") {
  const auto renamed = [](const std::vector<std::pair<std::string, AxisList>>& rules) {
    TestModel model;
    const TensorId a = model.input("a", {{"m", 16}, {"l", 8}});
    model.declare({{"rows", 16}});
    model.output(model.op("y", "rename", {a}, {{"map", std::vector<Renaming>{{"m", {"rows", 16}}}}}));
    return collectives(model.compiled(kSquare, rules));
  };
  CHECK(renamed({{"m", {0}}, {"rows", {0}}}) == "");
  CHECK(renamed({{"rows", {0}}}) == "");
  CHECK(renamed({{"m", {0}}}) == "all_gather r 128");
  CHECK(renamed({{"m", {0, 1}}, {"rows", {0}}}) == "all_gather c 64");
  CHECK(renamed({{"m", {0}}, {"rows", {1}}}) == "exchange r 64");
}

TEST_CASE("axes that move to other dimensions go in one all_to_all") {
  const auto renamed = [](const std::vector<std::pair<std::string, AxisList>>& rules) {
    TestModel model;
    const TensorId a = model.input("a", {{"m", 16}, {"l", 8}, {"k", 4}});
    model.declare({{"rows", 16}, {"cols", 8}, {"parts", 4}});
    const std::vector<Renaming> map{{"m", {"rows", 16}}, {"l", {"cols", 8}}, {"k", {"parts", 4}}};
    model.output(model.op("y", "rename", {a}, {{"map", map}}));
    return collectives(model.compiled(kSquare, rules));
  };
  CHECK(renamed({{"m", {0}}, {"cols", {0}}}) == "all_to_all r 256");
  CHECK(renamed({{"m", {0, 1}}, {"cols", {0}}, {"parts", {1}}}) == "all_to_all r+c 128");
  CHECK(renamed({{"m", {0, 1}}, {"rows", {0}}, {"cols", {1}}}) == "all_to_all c 128");
  CHECK(renamed({{"m", {0}}, {"l", {1}}, {"rows", {1}}, {"cols", {0}}}) == "permute r+c 128");
  const std::string turned = renamed({{"m", {0, 1}}, {"rows", {1, 0}}});
  CHECK(turned.ends_with(" r+c 128"));
  CHECK_FALSE(turned.starts_with("all_to_all"));
}

TEST_CASE("pieces over a split dimension send just what another device needs") {
  const auto moved = [](std::string_view op, const Attributes& attributes, const Dims& more = {},
                        const std::vector<std::pair<std::string, AxisList>>& rules = {{"m", {0}}}) {
    TestModel model;
    const TensorId a = model.input("a", {{"m", 16}, {"l", 8}});
    model.declare(more);
    model.output(model.op("y", op, {a}, attributes));
    return collectives(model.compiled(kLine, rules));
  };
  const Dim m{"m", 16}, part{"part", 12};
  CHECK(moved("shift", {{"dim", m}, {"by", int64_t{1}}}) == "exchange p 8");
  CHECK(moved("shift", {{"dim", m}, {"by", int64_t{-9}}}) == "exchange p 32");
  CHECK(moved("shift", {{"dim", m}, {"by", int64_t{16}}}) == "");
  CHECK(moved("shift", {{"dim", Dim{"l", 8}}, {"by", int64_t{1}}}) == "");
  CHECK(moved("reverse", {{"dim", m}}) == "exchange p 32");
  // [0, 12) in shards of 3 comes from shards of 4: device 1 gives a row to device 0, device 2 gives two to
  // device 1.
  const Attributes first{{"dim", m}, {"limit", int64_t{12}}, {"to", part}};
  CHECK(moved("slice", first, {part}, {{"m", {0}}, {"part", {0}}}) == "exchange p 24");
  CHECK(moved("slice", first, {part}, {{"part", {0}}}) == "");
  CHECK(moved("slice", first, {part}, {{"m", {0}}}) == "exchange p 96");
}

TEST_CASE("axes move with the digits that they split, and nothing else moves") {
  const auto reshaped = [](const Dims& from, const Dims& to,
                           const std::vector<std::pair<std::string, AxisList>>& rules) {
    TestModel model;
    const TensorId a = model.input("a", from);
    model.declare(to);
    model.output(model.op("y", "reshape", {a}, {{"dims", to}}));
    return collectives(model.compiled(kSquare, rules));
  };
  const std::vector<std::pair<std::string, AxisList>> rules{{"b", {0, 1}}, {"u", {0}}, {"v", {1}}};
  CHECK(reshaped({{"b", 8}}, {{"u", 2}, {"v", 4}}, rules) == "");
  CHECK(reshaped({{"u", 2}, {"v", 4}}, {{"b", 8}}, rules) == "");
  CHECK(reshaped({{"b", 8}}, {{"u", 4}, {"v", 2}}, rules) != "");
}

TEST_CASE("no collective stands where every device has what it needs") {
  const auto moved = [](std::string_view op, int64_t size, const Attributes& attributes) {
    TestModel model;
    const TensorId a = model.input("a", {{"m", size}, {"l", 8}});
    model.declare({attributes.get<Dim>("to")});
    model.output(model.op("y", op, {a}, attributes));
    return collectives(model.compiled(kLine, {{"m", {0}}, {"part", {0}}}));
  };
  const Dim m{"m", 4}, three{"m", 3};
  // The last device has the last element of four, and also that of one.
  CHECK(moved("slice", 4, {{"dim", m}, {"start", int64_t{3}}, {"to", Dim{"part", 1}}}) == "");
  CHECK(
      moved("slice", 4, {{"dim", m}, {"start", int64_t{2}}, {"limit", int64_t{3}}, {"to", Dim{"part", 1}}}) ==
      "exchange p 8");
  // Three elements over four devices: device i has element i-1, which a pad by one puts at position i.
  CHECK(moved("pad", 3, {{"dim", three}, {"low", int64_t{1}}, {"to", Dim{"part", 4}}}) == "");
  CHECK(moved("pad", 3, {{"dim", three}, {"high", int64_t{1}}, {"to", Dim{"part", 4}}}) == "exchange p 8");
}

TEST_CASE("softmax, cross-entropy and argmax over a split dimension send only batch-sized values") {
  TestModel model;
  const TensorId logits = model.input("logits", {{"b", 8}, {"v", 16}});
  const Dims v{{"v", 16}};
  const TensorId largest = model.op("largest", "argmax", {logits}, {{"over", v}});
  model.output(largest);
  const Program program = model.compiled(kLine, {{"v", {0}}});
  CHECK(collectives(program) == "all_reduce p 8, all_reduce p 8");

  TestModel loss;
  const TensorId scores = loss.input("scores", {{"b", 8}, {"v", 16}});
  const TensorId labels = loss.input("labels", {{"b", 8}}, DType::kI32);
  loss.output(loss.composite("loss", "softmax_cross_entropy", {scores, labels}, {{"over", v}}));
  // The three are the maximum, the sum of exponentials, and the score of the label.
  CHECK(collectives(loss.compiled(kLine, {{"v", {0}}})) == "all_reduce p 8, all_reduce p 8, all_reduce p 8");
}

TEST_CASE("sums along a split dimension gather a total per part, the largest elements the candidates") {
  TestModel model;
  const TensorId x = model.input("x", {{"b", 8}, {"v", 512}});
  const Dim v{"v", 512};
  model.output(model.op("sums", "cumsum", {x}, {{"dim", v}}));
  CHECK(collectives(model.compiled(kLine, {{"v", {0}}})) == "all_gather p 32");
  TestModel ranking;
  const TensorId y = ranking.input("y", {{"b", 8}, {"v", 512}});
  ranking.declare({{"best", 3}});
  ranking.output(ranking.op("top", "top_k", {y}, {{"dim", v}, {"to", Dim{"best", 3}}}));
  CHECK(collectives(ranking.compiled(kLine, {{"v", {0}}})) == "all_gather p 96");
}

TEST_CASE("sums along a dimension that many devices split take the same steps") {
  const auto steps = [](int64_t devices, int64_t gathered) {
    TestModel model;
    const Dim v{"v", 1 << 20};
    const TensorId x = model.input("x", {{"b", 8}, v});
    model.output(model.op("sums", "cumsum", {x}, {{"dim", v}}));
    const Program program = model.compiled(Mesh({{"p", devices}}), {{"v", {0}}});
    CHECK(collectives(program) == fmt::format("all_gather p {}", gathered));
    return program.find("evaluate")->steps.size();
  };
  CHECK(steps(2, 16) == steps(4096, 32768));
}

TEST_CASE("sums along two dimensions split over meshes of different sizes are kept apart") {
  TestModel model;
  const TensorId x = model.input("x", {{"m", 512}, {"v", 512}});
  const TensorId down = model.op("down", "cumsum", {x}, {{"dim", Dim{"m", 512}}});
  model.output(model.op("both", "cumsum", {down}, {{"dim", Dim{"v", 512}}}));
  const Mesh mesh({{"r", 2}, {"c", 4}});
  CHECK(collectives(model.compiled(mesh, {{"m", {0}}, {"v", {1}}})) == "all_gather r 256, all_gather c 1024");
}

TEST_CASE("a table split on the indexed dimension is read in place") {
  TestModel model;
  const TensorId table = model.input("table", {{"v", 16}, {"d", 4}});
  const TensorId tokens = model.input("tokens", {{"b", 6}}, DType::kI32);
  model.output(model.op("x", "gather", {table, tokens}, {{"dim", Dim{"v", 16}}}));
  CHECK(collectives(model.compiled(kLine, {{"v", {0}}})) == "all_reduce p 24");
}

TEST_CASE(
    "beside an annotation, the rules split what the model names even where a whole copy would cost less") {
  const auto steps_of = [](const std::vector<Annotation>& annotations) {
    TestModel m({{"batch", 8}, {"io", 64}, {"hidden", 20}, {"classes", 10}});
    const TensorId x = m.input("x", m.dims({"batch", "io"}));
    const TensorId w = m.variable("w", m.dims({"io", "hidden"})),
                   v = m.variable("v", m.dims({"hidden", "classes"}));
    const TensorId h = m.op("h", "einsum", {x, w}, {{"dims", m.dims({"batch", "hidden"})}});
    m.output(m.op("y", "einsum", {h, v}, {{"dims", m.dims({"batch", "classes"})}}));
    const Layout layout{kSquare, {{"batch", {0}, {}}, {"hidden", {1}, {}}}, annotations};
    const Program program = compile(m.finished(), layout, {});
    const EntryPoint& entry = *program.find("evaluate");
    int64_t flops = 0;
    for (const StepCount& count : predicted_counts(program, entry)) flops += count.flops;
    return std::pair(flops, collectives(program));
  };
  const auto by_rules = steps_of({});
  CHECK(by_rules.second == "all_reduce c 40");
  CHECK(steps_of({{"v", {{"hidden", {1}, {}}}, {}}}) == by_rules);
}

TEST_CASE("variables that are swapped see the values from the start of the step") {
  TestModel model;
  const TensorId a = model.variable("a", {{"m", 16}}), b = model.variable("b", {{"m", 16}});
  model.assign("a", b);
  model.assign("b", a);
  const Program program = model.compiled(kLine, {});
  const EntryPoint& train = *program.find("train");
  CHECK(train.steps.size() == 3);  // a copy out, a copy across, a copy in
}

TEST_CASE("an output that is a variable gives its own new value, even where variables are swapped") {
  TestModel model;
  const TensorId a = model.variable("a", {{"m", 16}}), b = model.variable("b", {{"m", 16}});
  model.assign("a", b);
  model.assign("b", a);
  model.output(a);
  model.output(b);
  const EntryGraph train = declared_entry(model.finished(), "train");
  CHECK(train.graph.tensor(train.outputs[0].tensor).name == "b");
  CHECK(train.graph.tensor(train.outputs[1].tensor).name == "a");
}

std::vector<std::string> passes_of_check(const Model& model) {
  std::vector<std::string> passes;
  CompileOptions options;
  options.timed = [&](const std::string& entry, const std::string& pass, double) {
    if (entry == "evaluate") passes.push_back(pass);
  };
  check_compilable(model, Layout{}, options);
  return passes;
}

std::vector<std::string> passes_before(const std::string& name) {
  const std::vector<std::string>& all = pass_names();
  // Those before are over models and training steps.
  const auto first = std::find(all.begin(), all.end(), "expand_composites");
  return {first, std::find(first, all.end(), name)};
}

TEST_CASE("checking runs the passes that may refuse a model, and no others") {
  TestModel model;
  const TensorId x = model.input("x", {{"m", 16}, {"k", 32}});
  model.output(model.op("y", "reduce_sum", {x}));
  CHECK(passes_of_check(model.finished()) == passes_before("remove_dead"));
}

TEST_CASE("checking counts precisely where a model is near the limits") {
  // Each of four tensors takes 2^57 bytes; 2^58 can be counted, and the output needs one of them.
  TestModel model;
  const TensorId x = model.input("x", {{"m", int64_t{1} << 28}, {"k", int64_t{1} << 27}});
  for (const char* unused : {"a", "b", "c"}) model.op(unused, "square", {x});
  model.output(model.op("y", "reduce_sum", {x}));
  CHECK(passes_of_check(model.finished()) == passes_before("recompute_cheap"));
}

TEST_CASE("checking refuses what is too large for compiling, also what order_contractions makes of it") {
  // The sum over `one` of the first operand is what goes beyond the limit.
  const Dims m{{"m", int64_t{3} << 53}}, both{{"m", int64_t{3} << 53}, {"one", 1}};
  const auto sums = [&] {
    TestModel model;
    const TensorId x = model.input("x", both), y = model.input("y", m);
    model.output(model.op("z", "einsum", {x, y}, {{"dims", Dims{}}}));
    return model.finished();
  };
  CHECK_THROWS_AS(compile(sums(), Layout{}, {}), UserError);
  CHECK_THROWS_AS(check_compilable(sums(), Layout{}, {}), UserError);

  TestModel huge;  // more elements than an int64_t counts
  const TensorId a = huge.input("a", {{"m", int64_t{1} << 40}, {"k", int64_t{1} << 40}});
  huge.output(huge.op("b", "exp", {a}));
  CHECK_THROWS_AS(check_compilable(huge.finished(), Layout{}, {}), UserError);
}

TEST_CASE("of a softmax only its result is kept for the backward pass") {
  TestModel model;
  const Dims both{{"m", 16}, {"n", 24}}, inner{{"n", 24}};
  const TensorId scores = model.input("scores", both), values = model.input("values", {{"n", 24}, {"l", 8}});
  const TensorId weights = model.composite("weights", "softmax", {scores}, {{"over", inner}});
  const TensorId mixed =
      model.op("mixed", "einsum", {weights, values}, {{"dims", Dims{{"m", 16}, {"l", 8}}}});
  const TensorId loss = model.op("loss", "reduce_sum", {model.op("squares", "square", {mixed})});
  model.output(model.gradient("slope", loss, scores));
  const Program program = model.compiled(kLine, {});
  std::string kept;
  for (const Value& value : program.find("evaluate")->values)
    if (value.buffer != kNoBuffer && value.alias_of == kNoValue && value.type.dims == both)
      kept += value.name + " ";
  CHECK(kept == "scores weights mixed/grad/einsum slope ");
}

TEST_CASE("an update is computed into the variable where nothing reads the old value later") {
  TestModel model;
  const TensorId a = model.variable("a", {{"m", 16}}), x = model.input("x", {{"m", 16}});
  const TensorId fresh = model.op("fresh", "sub", {a, x});
  model.assign("a", fresh);
  const Program program = model.compiled(kLine, {{"m", {0}}});
  const EntryPoint& train = *program.find("train");
  REQUIRE(train.steps.size() == 1);
  CHECK(train.buffers[train.values[train.steps[0].outputs[0]].buffer].kind == BufferKind::kVariable);
}

TEST_CASE("a row that is written into a cache costs no copy of the cache") {
  TestModel model;
  const Dims all{{"rows", 16}, {"m", 4}};
  const TensorId cache = model.variable("cache", all), row = model.input("row", {{"m", 4}});
  const TensorId at = model.input("at", {}, DType::kI32);
  const TensorId fresh = model.op("fresh", "update_slice", {cache, row, at}, {{"dim", Dim{"rows", 16}}});
  model.output(model.op("sum", "reduce_sum", {fresh}));
  model.assign("cache", fresh);
  const Program program = model.compiled(kLine, {{"m", {0}}});
  const EntryPoint& train = *program.find("train");
  const auto buffer_of = [&](ValueId id) { return train.values[id].buffer; };
  for (const Step& step : train.steps) CHECK((!step.op() || step.op()->signature.name != "identity"));
  for (const Step& step : train.steps)
    if (step.op() && step.op()->signature.name == "update_slice")
      CHECK(train.buffers[buffer_of(step.outputs[0])].kind == BufferKind::kVariable);
  CHECK(find_buffer_fault(program.mesh(), train) == std::nullopt);
}

}  // namespace
}  // namespace mtfc::pipeline_test
