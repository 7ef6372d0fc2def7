// Loops give the same results for every layout and in every iteration.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <functional>

#include "core/compile/pipeline.h"
#include "core/cost/cost.h"
#include "core/diagnostics/error.h"
#include "core/graph/op_registry.h"
#include "core/program/program_check.h"
#include "runtime/comm/comm_lockstep.h"
#include "runtime/testing/reference.h"
#include "runtime/testing/sharded_runs.h"

namespace mtfc::loop_test {
namespace {

constexpr DType kFloat = DType::kF64;

// Builds one part of a loop from its leaves.
using Draw = std::function<std::vector<TensorId>(GraphBuilder&, const std::vector<TensorId>&)>;

LoopPart part_of(const std::vector<TensorType>& leaves, const std::string& name, const Draw& draw) {
  GraphBuilder b;
  std::vector<TensorId> ids;
  for (size_t i = 0; i < leaves.size(); ++i) ids.push_back(b.add_input(leaf_name(i), leaves[i]));
  b.set_origin({name, {"m.json", 7, 3, "/ops/0"}, Phase::kForward});
  std::vector<TensorId> results = draw(b, ids);
  return {std::move(b).build(), std::move(results)};
}

std::vector<TensorType> types_of(const GraphBuilder& b, const std::vector<TensorId>& ids) {
  std::vector<TensorType> types;
  for (const TensorId id : ids) types.push_back(b.type(id));
  return types;
}

std::vector<TensorId> repeat_while(GraphBuilder& b, const std::vector<TensorId>& operands, const Draw& holds,
                                   const Draw& body, const std::string& name = "loop") {
  const std::vector<TensorType> types = types_of(b, operands);
  return b.add_loop(
      std::make_shared<GraphLoop>(GraphLoop{part_of(types, name, holds), part_of(types, name, body), 0, 0}),
      operands);
}

std::vector<TensorId> repeat_times(GraphBuilder& b, const std::vector<TensorId>& operands, int64_t times,
                                   const Draw& body, const std::string& name = "loop") {
  return b.add_loop(
      std::make_shared<GraphLoop>(GraphLoop{{}, part_of(types_of(b, operands), name, body), times, 0}),
      operands);
}

// A model with inputs x[a, c] and y[a], and the results of `draw` as outputs.
struct Draft {
  Model model;
  WholeTensors inputs;
};

Draft draft(const Draw& draw) {
  Draft made;
  made.model.dims = {{"a", 5}, {"c", 7}};
  GraphBuilder b;
  std::vector<TensorId> ids;
  const Dims dims[] = {made.model.dims, {{"a", 5}}};
  for (const char* name : {"x", "y"}) {
    const TensorType type{kFloat, dims[ids.size()]};
    ids.push_back(b.add_input(name, type));
    b.mark_from_model(ids.back());
    made.model.inputs.push_back({name, type, "", {}});
    made.inputs[name] = {type, {}};
    for (int64_t i = 0; i < elements(type.dims); ++i)
      made.inputs[name].values.push_back(static_cast<double>((i * 7 + 3) % 11) / 11 - 0.3);
  }
  b.set_origin({"made", {"m.json", 5, 3, "/ops/0"}, Phase::kForward});
  for (const TensorId id : draw(b, ids)) {
    const std::string name = fmt::format("out{}", made.model.outputs.size());
    b.name(id, name);
    made.model.outputs.push_back({name, id});
  }
  made.model.graph = std::move(b).build();
  return made;
}

// Checks that every legal layout over several meshes agrees with the interpreter, and its program passes all
// checks.
void try_layouts(const Draft& made) {
  const WholeTensors expected = reference_outputs(made.model, made.inputs);
  int tried = 0;
  for (const Mesh& mesh : {Mesh(), Mesh({{"p", 2}}), Mesh({{"p", 3}}), Mesh({{"p", 2}, {"q", 2}})})
    for (const Layout& layout : all_rule_sets(mesh, made.model.dims, true)) {
      if (!is_legal(made.model, layout)) continue;
      const std::string shown = to_string(mesh) + " " + to_string(layout);
      CAPTURE(shown);
      const Program program = compile(made.model, layout, {});
      const auto fault = find_program_fault(program);
      CHECK(std::string(fault ? fault->what() : "") == "");
      CHECK(difference(expected, run_in_lockstep(program, made.inputs)) == "");
      ++tried;
    }
  CHECK(tried > 10);
}

TensorId less_than(GraphBuilder& b, TensorId count, double limit) {
  return b.op("less", {count, b.constant(limit, b.type(count).dtype)});
}
TensorId one_more(GraphBuilder& b, TensorId count) {
  return b.op("add", {count, b.constant(1, b.type(count).dtype)});
}

// s <- sum(y * s), three times.
std::vector<TensorId> sums(GraphBuilder& b, const std::vector<TensorId>& in) {
  const std::vector<TensorId> done = repeat_while(
      b, {b.constant(1, kFloat), b.constant(0, DType::kI32), in[1]},
      [](GraphBuilder& c, const std::vector<TensorId>& leaf) -> std::vector<TensorId> {
        return {less_than(c, leaf[1], 3)};
      },
      [](GraphBuilder& c, const std::vector<TensorId>& leaf) -> std::vector<TensorId> {
        return {c.op("reduce_sum", {c.op("mul", {leaf[2], leaf[0]})}), one_more(c, leaf[1])};
      });
  return {done[0], done[1]};
}

}  // namespace

TEST_CASE("a carried sum over a split dimension is whole in every round") {
  const Draft made = draft(sums);
  double sum = 0;
  for (const double y : made.inputs.at("y").values) sum += y;
  CHECK(reference_outputs(made.model, made.inputs).at("out0").values[0] == doctest::Approx(sum * sum * sum));
  CHECK(reference_outputs(made.model, made.inputs).at("out1").values[0] == 3);
  try_layouts(made);
}

TEST_CASE("carried tensors may change places, and come from outside") {
  try_layouts(draft([](GraphBuilder& b, const std::vector<TensorId>& in) {
    return repeat_times(b, {in[1], b.op("neg", {in[1]}), in[1], in[0]}, 5,
                        [](GraphBuilder& c, const std::vector<TensorId>& leaf) -> std::vector<TensorId> {
                          const TensorId rows = c.op("reduce_sum", {leaf[3]}, {{"over", Dims{{"c", 7}}}});
                          return {leaf[1], leaf[0], c.op("add", {rows, leaf[1]})};
                        });
  }));
}

TEST_CASE("loops nest, and each round of one draws its own numbers") {
  const Draft made = draft([](GraphBuilder& b, const std::vector<TensorId>& in) {
    return repeat_times(
        b, {in[0], in[1]}, 2,
        [](GraphBuilder& c, const std::vector<TensorId>& leaf) -> std::vector<TensorId> {
          const std::vector<TensorId> inner = repeat_while(
              c, {leaf[0], c.constant(0, DType::kI32), leaf[1]},
              [](GraphBuilder& d, const std::vector<TensorId>& mine) -> std::vector<TensorId> {
                return {less_than(d, mine[1], 3)};
              },
              [](GraphBuilder& d, const std::vector<TensorId>& mine) -> std::vector<TensorId> {
                const TensorId product = d.op("einsum", {mine[0], mine[2]}, {{"dims", Dims{{"c", 7}}}});
                return {d.op("add", {mine[0], d.op("mul", {product, d.constant(0.1, kFloat)})}),
                        one_more(d, mine[1])};
              },
              "inner");
          return {inner[0]};
        });
  });
  try_layouts(made);
}

TEST_CASE("random numbers differ from round to round, but not from layout to layout") {
  const Draft made = draft([](GraphBuilder& b, const std::vector<TensorId>& in) {
    return repeat_times(
        b, {b.op("sub", {in[1], in[1]}), in[1]}, 2,
        [](GraphBuilder& c, const std::vector<TensorId>& leaf) -> std::vector<TensorId> {
          const TensorId fresh = c.op("random_normal", {}, {{"dims", Dims{{"a", 5}}}, {"dtype", kFloat}});
          // The second iteration subtracts the first one's draw from its own.
          return {c.op("sub", {fresh, leaf[0]})};
        });
  });
  const auto run = [&](const Layout& layout) {
    return run_in_lockstep(compile(made.model, layout, {}), made.inputs);
  };
  const WholeTensors one = run({});
  for (const double difference : one.at("out0").values) CHECK(difference != 0);
  CHECK(difference(one, run({Mesh({{"p", 3}}), {{"a", {0}, {}}}})) == "");
}

TEST_CASE("a loop of known length is counted in full, by the report and by the run") {
  const Draft made = draft([](GraphBuilder& b, const std::vector<TensorId>& in) {
    return repeat_times(
        b, {in[1], in[0]}, 4,
        [](GraphBuilder& c, const std::vector<TensorId>& leaf) -> std::vector<TensorId> {
          const TensorId sums = c.op("einsum", {leaf[1], leaf[0]}, {{"dims", Dims{{"c", 7}}}});
          return {c.op("einsum", {leaf[1], sums}, {{"dims", Dims{{"a", 5}}}})};
        });
  });
  const Program program = compile(made.model, {Mesh({{"p", 2}}), {{"a", {0}, {}}}}, {});
  const EntryPoint& entry = *program.find("evaluate");
  const std::vector<StepCount> predicted = predicted_counts(program, entry);
  const CostReport report = cost_report(program, entry, predicted);
  CHECK(report.arithmetic.einsum_useful == 4 * 2 * (2 * 5 * 7));
  CHECK(report.arithmetic.einsum_total == report.arithmetic.einsum_useful);
  CHECK(report.communication.total.count == 4);
  CHECK(report.communication.total.elements == 4 * 7);

  Processes processes = Processes::alone();
  LockstepComm comm(program.mesh(), processes);
  Executor executor(program, comm);
  executor.load(entry);
  for (int run = 0; run < 2; ++run) {
    for (const Binding& input : entry.inputs)
      for (size_t device = 0; device < 2; ++device)
        fill_shard(made.inputs.at(input.name), executor.shard(entry, input.value, device));
    executor.run(entry, run);
    const std::vector<StepCount> counted = executor.counts(entry);
    for (size_t s = 0; s < counted.size(); ++s) {
      CAPTURE(s);
      CHECK(counted[s].elements == predicted[s].elements);
      CHECK(counted[s].bytes_sent == predicted[s].bytes_sent);
      if (is_control(entry.steps[s].kind())) continue;
      CHECK(counted[s].runs == predicted[s].runs);
      CHECK(counted[s].flops == predicted[s].flops);
    }
  }
}

TEST_CASE("a gradient that would go through a loop of unknown length is refused") {
  const Draft made = draft([](GraphBuilder& b, const std::vector<TensorId>& in) {
    return b.add_gradients(sums(b, in)[0], {in[1]});
  });
  CHECK_THROWS_WITH_AS(compile(made.model, {}, {}),
                       "m.json:5:3: error: /ops/0: the loop that makes 'made/loop' has no gradient: the "
                       "number of its rounds is known only when it runs (a loop with 'times' in place of "
                       "'cond' has one; stop_gradient keeps gradients from reaching this one)",
                       UserError);
}

}  // namespace mtfc::loop_test
