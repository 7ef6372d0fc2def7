// Compares the choice of what is computed again with all choices, each compiled.

#include "core/compile/fit_memory.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "core/compile/remat_graph.h"
#include "core/cost/kernel_time.h"
#include "core/testing/sanitized.h"
#include "core/testing/settings.h"
#include "core/testing/test_model.h"

namespace mtfc::fit_memory_test {
namespace {

Hardware hardware() {
  Hardware hardware;
  hardware.name = "test";
  hardware.flops["f32"] = 1e10;
  hardware.memory_bandwidth = 1e10;
  return hardware;
}

TensorId einsum(TestModel& m, const std::vector<TensorId>& operands, const std::vector<std::string>& names) {
  return m.op("einsum", operands, {{"dims", m.dims(names)}});
}

Model trained(TestModel& m, TensorId result) {
  const TensorId loss = m.op("loss", "reduce_sum", {m.op("square", {result})});
  m.output(loss);
  m.train({loss, "sgd", {{"lr", 0.1}}});
  return m.finished();
}

// A few products and element-wise operations, each of which reads one or two tensors made before.
Model random_model(uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](uint64_t count) { return random() % count; };
  const std::vector<std::string> widths = {"narrow", "middle", "wide"};
  TestModel m({{"batch", 32}, {"narrow", 8}, {"middle", 24}, {"wide", 64}});
  std::vector<std::pair<TensorId, size_t>> made = {{m.input("x", m.dims({"batch", "narrow"})), 0}};
  const size_t count = 3 + below(6);
  for (size_t i = 0; i < count; ++i) {
    const auto [from, width] = made[made.size() - 1 - below(std::min<size_t>(made.size(), 3))];
    const size_t to = below(widths.size());
    const std::string number = std::to_string(i);
    std::vector<TensorId> alike;
    for (const auto& [id, other] : made)
      if (other == width) alike.push_back(id);
    switch (made.size() == 1 ? 0 : below(5)) {
      case 0:
      case 1:
        if (to != width) {
          const TensorId w = m.variable("w" + number, m.dims({widths[width], widths[to]}), true);
          made.emplace_back(einsum(m, {from, w}, {"batch", widths[to]}), to);
          break;
        }
        [[fallthrough]];
      case 2:
        made.emplace_back(m.op("tanh", {from}), width);
        break;
      case 3:
        made.emplace_back(m.op("relu", {from}), width);
        break;
      default:
        made.emplace_back(m.op("mul", {from, alike[below(alike.size())]}), width);
    }
  }
  return trained(m, made.back().first);
}

struct Tried {
  double seconds = 0;  // of what runs again
  int64_t peak = 0;
};

// The program that computes `names` again, and what of its graph runs again. The backward pass of every program
// computes cheap tensors again (core/rewrite/cheap_tensors.h), which does not count.
Tried tried(const Model& model, const RematNames& names) {
  CompileOptions options;
  options.entries = {"train"};
  Plan plan;
  plan.recomputed = names;
  Tried found;
  found.peak = compile(model, {}, options, plan).arena_bytes();
  const std::vector<PreparedModel::Part> parts = PreparedModel(model, options).parts("train", plan);
  const Graph& graph = parts.front().graph.graph;
  const EntryGraph plain = PreparedModel(model, options).parts("train").front().graph;
  for (const Node& node : graph.nodes()) {
    const std::string& name = graph.tensor(node.results[0]).name;
    if (node.kind != NodeKind::kOp || !name.ends_with(kAgain) || plain.graph.find(name) != kNoTensor)
      continue;
    const std::vector<LocalType> operands = held_whole(graph.operand_types(node));
    found.seconds += operation_time(*node.op, {node.attributes, operands},
                                    held_whole(graph.result_types(node)), hardware())
                         .seconds();
  }
  return found;
}

std::vector<std::string> choices_of(const Model& model) {
  const Program program = compile(model, {}, {});
  const std::vector<PreparedModel::Part> parts = PreparedModel(model, {}).parts("train");
  const RematGraph graph(parts, program, *program.find("train"), hardware());
  std::vector<std::string> names;
  for (const size_t tensor : graph.choices()) names.push_back(graph.name(tensor));
  return names;
}

std::vector<Tried> all_choices(const Model& model, const std::vector<std::string>& choices) {
  std::vector<Tried> all;
  for (size_t bits = 0; bits < size_t{1} << choices.size(); ++bits) {
    RematNames names;
    for (size_t i = 0; i < choices.size(); ++i)
      if (bits >> i & 1) names.insert(choices[i]);
    all.push_back(tried(model, names));
  }
  return all;
}

// Returns whether the limit asked for a choice.
bool compare(const Model& model, const std::vector<Tried>& all, int64_t limit) {
  double best = INFINITY;
  int64_t smallest = INT64_MAX;
  for (const Tried& one : all) {
    smallest = std::min(smallest, one.peak);
    if (one.peak <= limit) best = std::min(best, one.seconds);
  }
  CompileOptions options;
  options.entries = {"train"};
  const FittedProgram fitted = compile_within(model, {}, options, limit, hardware());
  if (best == 0) {
    CHECK_FALSE(fitted.recomputation);
    return false;
  }
  if (best == INFINITY) {
    REQUIRE(fitted.too_large);
    CHECK(fitted.too_large->least_memory <= smallest);
    return true;
  }
  REQUIRE(fitted.recomputation);
  const Recomputation& made = *fitted.recomputation;
  CHECK(made.seconds == doctest::Approx(best).epsilon(1e-9));
  CHECK(made.is_best);
  CHECK(made.least_seconds <= best * (1 + 1e-9));
  CHECK(made.least_memory <= smallest);
  CHECK(made.memory <= limit);
  CHECK(fitted.program.arena_bytes() == made.memory);
  RematNames names;
  for (const auto& [name, bytes] : made.tensors) names.insert(name);
  CHECK(tried(model, names).seconds == doctest::Approx(made.seconds).epsilon(1e-9));
  return true;
}

// Layers of which each is wide inside.
Model layers(int count) {
  TestModel m({{"batch", 64}, {"narrow", 16}, {"wide", 128}});
  TensorId x = m.input("x", m.dims({"batch", "narrow"}));
  for (int i = 0; i < count; ++i) {
    const std::string layer = "layer_" + std::to_string(i) + "/";
    const TensorId wi = m.variable(layer + "wi", m.dims({"narrow", "wide"}), true);
    const TensorId wo = m.variable(layer + "wo", m.dims({"wide", "narrow"}), true);
    const TensorId inner = m.op(layer + "inner", "einsum", {x, wi}, {{"dims", m.dims({"batch", "wide"})}});
    const TensorId active = m.op(layer + "active", "tanh", {inner});
    const TensorId y = m.op(layer + "y", "einsum", {active, wo}, {{"dims", m.dims({"batch", "narrow"})}});
    x = m.op(layer + "sum", "add", {x, y});
  }
  return trained(m, x);
}

}  // namespace

TEST_CASE("the choice of a few tensors is the best of all") {
  // MTFC_CASES=500 MTFC_CHOICES=12 takes two minutes.
  const int64_t cases = setting("MTFC_CASES", kSanitized ? 5 : 40), first = setting("MTFC_SEED", 1);
  const auto most = static_cast<size_t>(setting("MTFC_CHOICES", kSanitized ? 4 : 7));
  int compared = 0;
  for (int64_t seed = first, found = 0; found < cases; ++seed) {
    CAPTURE(seed);
    const Model model = random_model(static_cast<uint64_t>(seed));
    const std::vector<std::string> choices = choices_of(model);
    if (choices.size() < 2 || choices.size() > most) continue;
    ++found;
    const std::vector<Tried> all = all_choices(model, choices);
    std::vector<int64_t> peaks;
    for (const Tried& one : all) peaks.push_back(one.peak);
    std::sort(peaks.begin(), peaks.end());
    for (const int64_t limit :
         {peaks.front() - 1, peaks.front(), peaks[peaks.size() / 4], (peaks.front() + peaks.back()) / 2})
      compared += compare(model, all, limit);
  }
  MESSAGE(compared << " limits that ask for a choice");
  CHECK(compared >= cases);
}

TEST_CASE("of layers, as few as needed are computed again, and the first ones") {
  const Model model = layers(8);
  CompileOptions options;
  options.entries = {"train"};
  const int64_t whole = compile(model, {}, options).arena_bytes();
  const FittedProgram all = compile_within(model, {}, options, whole * 3 / 4, hardware());
  CHECK(all.program.arena_bytes() <= whole * 3 / 4);
  const FittedProgram few = compile_within(model, {}, options, whole - 3 * 64 * 128 * 4, hardware());
  REQUIRE(few.recomputation);
  std::string names;
  for (const auto& [name, bytes] : few.recomputation->tensors) names += name + " ";
  CHECK(names == "layer_0/active layer_0/inner layer_1/active layer_1/inner layer_2/active layer_2/inner ");
  CHECK(few.recomputation->seconds < all.recomputation->seconds);
  CHECK_FALSE(few.recomputation->is_best);
  CHECK(few.recomputation->least_seconds <= few.recomputation->seconds);
}

TEST_CASE("without a limit, below it, and without training, programs stay as they are") {
  const Model model = layers(2);
  CompileOptions options;
  options.entries = {"train"};
  const int64_t whole = compile(model, {}, options).arena_bytes();
  for (const int64_t limit : {int64_t{0}, whole, 2 * whole}) {
    const FittedProgram fitted = compile_within(model, {}, options, limit, hardware());
    CHECK_FALSE(fitted.recomputation);
    CHECK_FALSE(fitted.too_large);
    CHECK(fitted.program.arena_bytes() == whole);
  }
  options.entries = {"evaluate"};
  const FittedProgram evaluated = compile_within(model, {}, options, 1000, hardware());
  CHECK_FALSE(evaluated.too_large);
}

}  // namespace mtfc::fit_memory_test
