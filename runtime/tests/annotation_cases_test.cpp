// Small models with annotated tensors: the collectives of the plan, the bytes that the busiest device sends, and the
// same values as on one device.
//
// Tensors are written as `a8:x b4:yz`: dimensions with their sizes and the axes that split them, each of one letter.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "core/compile/pipeline.h"
#include "core/cost/cost.h"
#include "core/testing/test_model.h"
#include "runtime/testing/reference.h"

namespace mtfc::annotation_cases_test {
namespace {

struct Written {
  Dims dims;
  std::vector<Rule> splits;
};

Written value_of(const std::string& text, const Mesh& mesh) {
  Written tensor;
  std::istringstream parts(text);
  for (std::string part; parts >> part;) {
    const size_t colon = std::min(part.find(':'), part.size());
    const std::string name = part.substr(0, 1);
    tensor.dims.push_back({name, std::stoll(part.substr(1, colon - 1))});
    Rule split{name, {}, {}};
    for (size_t i = colon + 1; i < part.size(); ++i) split.axes.push_back(mesh.find(part.substr(i, 1)));
    if (!split.axes.empty()) tensor.splits.push_back(split);
  }
  return tensor;
}

// "x4,y2"
Mesh mesh_of(const std::string& text) {
  std::vector<Axis> axes;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');)
    axes.push_back({part.substr(0, 1), std::stoll(part.substr(1))});
  return Mesh(axes);
}

struct Case {
  std::string mesh;
  std::string op;
  std::vector<std::string> operands;
  std::string result;
  int64_t most = 0;                      // bytes sent by a device
  std::vector<std::string> collectives;  // in order of their names
  bool runs = true;                      // otherwise too large for a test
  bool is_result_free = false;
};

struct Built {
  Model model;
  Layout layout;
};

Attributes attributes_of(const std::string& op, const Dims& operand, const Dims& result) {
  if (op == "einsum") return {{"dims", result}};
  if (op == "reshape") return {{"dims", result}};
  if (op == "reduce_sum") {
    Dims over = operand;
    std::erase_if(over, [&](const Dim& dim) { return contains(result, dim.name); });
    return {{"over", over}};
  }
  if (op == "top_k") return {{"dim", operand.back()}, {"to", result.back()}};
  if (op == "reverse" || op == "cumsum") return {{"dim", operand.back()}};
  return {};
}

Built built(const Case& of, bool propagate) {
  const Mesh mesh = mesh_of(of.mesh);
  Layout layout{mesh, {}, {}, propagate};
  TestModel model;
  std::vector<TensorId> operands;
  std::vector<Written> written;
  for (size_t i = 0; i < of.operands.size(); ++i) {
    written.push_back(value_of(of.operands[i], mesh));
    const std::string name = fmt::format("u{}", i);
    operands.push_back(model.input(name, written.back().dims));
    layout.annotations.push_back({name, written.back().splits, {}});
  }
  const Written result = value_of(of.result, mesh);
  model.declare(result.dims);
  if (of.op == "identity")
    operands = {model.op("s", "mul",
                         {operands[0], model.op("constant", {}, {{"value", 3.0}, {"dtype", DType::kF32}})})};
  const TensorId t = model.op("t", of.op, operands, attributes_of(of.op, written[0].dims, result.dims));
  if (!of.is_result_free) layout.annotations.push_back({"t", result.splits, {}});
  model.output(t);
  if (of.op == "top_k") model.output(TensorId(t.index() + 1));  // the indices
  return {model.finished(), layout};
}

struct Plan {
  int64_t bytes = 0;
  std::vector<std::string> collectives;
  int64_t largest_buffer = 0;
};

Plan plan_of(const Program& program) {
  const EntryPoint& entry = *program.find("evaluate");
  const std::vector<StepCount> counts = predicted_counts(program, entry);
  Plan plan;
  for (size_t s = 0; s < entry.steps.size(); ++s) {
    if (entry.steps[s].kind() != StepKind::kStart) continue;
    plan.bytes += counts[s].bytes_sent;
    plan.collectives.push_back(to_string(entry.steps[s].collective().kind));
  }
  for (const Buffer& buffer : entry.buffers)
    plan.largest_buffer = std::max(plan.largest_buffer, buffer.bytes);
  std::sort(plan.collectives.begin(), plan.collectives.end());
  return plan;
}

void check_values(const Built& made, const Program& program) {
  WholeTensors inputs;
  for (const InputDecl& input : made.model.inputs)
    inputs[input.name] = drawn({input.type, Fill::kNormal, 0}, 7 + inputs.size());
  CHECK(difference(reference_outputs(made.model, inputs), run_in_lockstep(program, inputs)) == "");
}

void check_case(const Case& of) {
  for (const bool propagate : {false, true}) {
    CAPTURE(of.mesh);
    CAPTURE(of.operands.front());
    CAPTURE(of.result);
    CAPTURE(propagate);
    const Built made = built(of, propagate);
    const Program program = compile(made.model, made.layout, {});
    const Plan plan = plan_of(program);
    CHECK(plan.bytes <= of.most);
    CHECK(plan.collectives == of.collectives);
    if (of.runs) check_values(made, program);
  }
}

}  // namespace

TEST_CASE("a tensor goes from one annotation to another at the least cost") {
  const std::vector<Case> cases = {
      {"x2", "identity", {"a8:x b2"}, "a8 b2:x", 16, {"all_to_all"}},
      {"x4,y2", "identity", {"a64 b64:x c64:y d64"}, "a64:y b64 c64 d64:x", 7'340'032, {"all_to_all"}, false},
      {"x4,y2", "identity", {"a8 b8:x c8:y d8"}, "a8:y b8 c8 d8:x", 1'792, {"all_to_all"}},
      {"x2", "identity", {"a7 b31:x c128"}, "a7:x b31 c128", 30'720, {"all_to_all"}},
      {"x2,y2,z2", "identity", {"a8:x b8:y c8 d8:z"}, "a8 b8:y c8:x d8:z", 1'024, {"all_to_all"}},
      {"x2,y2,z2", "identity", {"a8:x b8:yz"}, "a8:yx b8:z", 32, {"exchange"}},
      {"x2,y3", "identity", {"a8:x b8:y"}, "a8 b8:x", 144, {"exchange"}},
      {"x2,y2", "identity", {"a7:x b5:y"}, "a7:y b5:x", 48, {"permute"}},
      {"x2,y2,z2", "identity", {"a8:xy b8:z"}, "a8:yz b8:x", 64, {"permute"}},
      {"x2,y2", "identity", {"a6:x b3"}, "a6:xy b3", 0, {}},
      {"x4,y2", "identity", {"a8 b32:xy"}, "a8:y b32:x", 64, {"all_to_all"}},
      {"x2,y2,z2", "identity", {"a16:y b8:xz c8"}, "a16 b8 c8:xyz", 448, {"all_to_all"}},
      {"x2,y2", "reshape", {"m8:xy"}, "a2:x b4:y", 0, {}},
      {"x2,y2", "reshape", {"a2:x b4:y"}, "m8:xy", 0, {}},
  };
  for (const Case& of : cases) check_case(of);
}

TEST_CASE("a product of annotated tensors makes the cheapest collectives") {
  const std::vector<Case> cases = {
      {"x2", "einsum", {"a128 k64:x", "k64:x b256"}, "a128 b256", 131'072, {"all_reduce"}},
      {"x2", "einsum", {"a128 k64:x", "k64:x b256"}, "a128 b256:x", 65'536, {"reduce_scatter"}},
      {"x2", "einsum", {"a32:x b24 k64", "a32 c39296 k64"}, "a32:x b24 c39296", 0, {}, false},
      {"x2", "einsum", {"a32:x b24 k64", "a32 c48 k64"}, "a32:x b24 c48", 0, {}},
      {"x2,y2", "einsum", {"a48:x k12:y", "b32:y k12:x"}, "a48:x b32:y", 960, {"all_gather", "all_gather"}},
      {"x2,y2",
       "einsum",
       {"a48:x k100:y", "b32:x k100:y"},
       "a48:x b32:y",
       4'736,
       {"all_gather", "reduce_scatter"}},
      {"x2,y2",
       "einsum",
       {"a4:x b24 k100:y", "a4 c32:x k100:y"},
       "a4:x b24:y c32",
       9'472,
       {"all_to_all", "reduce_scatter"}},
      {"x2,y2", "einsum", {"a24 k100:x", "b32 k100:x"}, "a24:y b32", 1'536, {"all_reduce"}},
      {"x2",
       "einsum",
       {"a32 b24:x k64 l128", "a32 c39295:x k64 l128"},
       "a32 b24:x c39295",
       42'762'240,
       {"all_gather", "all_to_all"},
       false},
      {"x2", "reduce_sum", {"a3:x b3"}, "", 8, {"all_reduce"}},
      {"x2", "reverse", {"a3:x"}, "a3:x", 4, {"exchange"}},
      {"x2", "top_k", {"a64 b256000:x"}, "a64 k40", 20'480, {"all_gather", "all_reduce"}, false, true},
      {"x8", "cumsum", {"a128 b1024:x"}, "a128 b1024:x", 3'584, {"all_gather"}},
  };
  for (const Case& of : cases) check_case(of);
}

TEST_CASE("a sum along a dimension in two parts is not computed by four devices") {
  // The operand may be split over q, or over q and p. Each part of the sum lies in one shard over q.
  const Dims e{{"e", 5}}, r{{"r", 5}};
  for (const bool propagate : {false, true}) {
    CAPTURE(propagate);
    TestModel model;
    model.declare(r);
    const TensorId sum = model.op("sum", "add", {model.input("x", e), model.input("y", e)});
    const TensorId renamed =
        model.op("renamed", "rename", {sum}, {{"map", std::vector<Renaming>{{"e", r[0]}}}});
    model.output(model.op("sums", "cumsum", {renamed}, {{"dim", r[0]}}));
    Layout layout{Mesh({{"p", 2}, {"q", 2}}), {{"r", {1, 0}, {}}}, {}, propagate};
    layout.annotations = {{"x", {{"e", {0}, {}}}, {}}, {"y", {{"e", {1}, {}}}, {}}};
    const Built made{model.finished(), layout};
    check_values(made, compile(made.model, made.layout, {}));
  }
}

TEST_CASE("a large operand that both sides split is not gathered") {
  const Case of{"x2", "einsum", {"a32 b24:x k64 l128", "a32 c39295:x k64 l128"}, "a32 b24:x c39295", 0, {}};
  const Built made = built(of, false);
  constexpr int64_t kRightOperand = int64_t{32} * 39295 * 64 * 128 * 4;
  CHECK(plan_of(compile(made.model, made.layout, {})).largest_buffer < kRightOperand);
}

namespace {

// A layer of experts, written plainly, behind a product. The places of tokens in the queues of experts are an input.
// The small one is to be run, and has its weights as inputs.
Built experts(bool is_small) {
  const int64_t k = is_small ? 4 : 1;
  const Dim g{"groups", 16 / k}, s{"tokens", 64 / k}, e{"experts", 8 / k}, c{"capacity", 16 / k},
      m{"model", 64 / k}, h{"hidden", 256 / k}, v{"vocab", 512 / k};
  TestModel model;
  const auto weight = [&](const char* name, const Dims& dims) {
    return is_small ? model.input(name, dims) : model.variable(name, dims, true);
  };
  const auto einsum = [&](const char* name, TensorId a, TensorId b, const Dims& dims) {
    return model.op(name, "einsum", {a, b}, {{"dims", dims}});
  };
  const TensorId x = einsum("x", model.input("inputs", {g, s, v}), weight("w", {v, m}), {g, s, m});
  const TensorId gate = model.op("gate", "sigmoid", {einsum("scores", x, weight("wg", {m, e}), {g, s, e})});
  const TensorId place = model.input("place", {g, s, c});
  const TensorId combine = einsum("combine", gate, place, {g, s, e, c});
  const TensorId sent = einsum("sent", combine, x, {g, e, c, m});
  const TensorId inside =
      model.op("h", "relu", {einsum("hidden_in", sent, weight("wi", {e, m, h}), {g, e, c, h})});
  const TensorId out = einsum("out", inside, weight("wo", {e, h, m}), {g, e, c, m});
  const TensorId y = einsum("y", combine, out, {g, s, m});
  const TensorId loss = model.op("loss", "reduce_mean", {model.op("squared", "square", {y})});
  model.output(loss);
  if (!is_small) model.train({loss, "sgd", {{"lr", 0.1}}});
  const Mesh mesh({{"all", 4}});
  return {model.finished(), Layout{mesh, {{"groups", {0}, {}}, {"experts", {0}, {}}}, {}, true}};
}

}  // namespace

TEST_CASE("a layer of experts exchanges tokens by two all_to_alls, and their gradients by two more") {
  Built made = experts(false);
  for (const int64_t microbatches : {1, 2}) {
    CAPTURE(microbatches);
    made.model.train->microbatches = microbatches;
    const Program program = compile(made.model, made.layout, {});
    const EntryPoint& train = *program.find("train");
    const CostReport report = cost_report(program, train, predicted_counts(program, train));
    CHECK(report.communication.by_kind.at("all_to_all").count == 4 * microbatches);
    CHECK(report.communication.by_kind.at("all_to_all").bytes_sent == 4 * 98'304);
    CHECK(report.communication.total.bytes_sent == 592'904);
    CHECK(report.arithmetic.duplication == 1.0);
    REQUIRE(train.plan);
    CHECK(train.plan->cost == train.plan->bound);
    CHECK(train.plan->cost == plan_cost(report));
  }
}

TEST_CASE("rules that are limited to the weights of experts give the same plan") {
  Built made = experts(false);
  const Rule by_experts = made.layout.rules.back();
  made.layout.rules.pop_back();
  made.layout.limited_rules = {{by_experts, "wi"}, {by_experts, "wo"}, {by_experts, "wg"}};
  const Program program = compile(made.model, made.layout, {});
  const EntryPoint& train = *program.find("train");
  const CostReport report = cost_report(program, train, predicted_counts(program, train));
  CHECK(report.communication.by_kind.at("all_to_all").count == 4);
  CHECK(report.communication.total.bytes_sent == 592'904);
  CHECK(report.arithmetic.duplication == 1.0);
}

TEST_CASE("by rules alone, a layer of experts would use an axis twice") {
  Built made = experts(false);
  made.layout.propagate = false;
  CHECK_THROWS_AS(compile(made.model, made.layout, {}), UserError);
}

TEST_CASE("a layer of experts gives the same on four devices as on one") {
  const Built made = experts(true);
  check_values(made, compile(made.model, made.layout, {}));
}

}  // namespace mtfc::annotation_cases_test
