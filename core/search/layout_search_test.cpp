// Compares the search with all rule sets, legal or not, compiled one by one.

#include "core/search/layout_search.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "core/compile/fit_memory.h"
#include "core/compile/pipeline.h"
#include "core/cost/cost.h"
#include "core/cost/device_order.h"
#include "core/search/layout_bound.h"
#include "core/search/plain_layouts.h"
#include "core/testing/sanitized.h"
#include "core/testing/test_model.h"

namespace mtfc::layout_search_test {
namespace {

TensorId einsum(TestModel& m, const std::vector<TensorId>& operands, const std::vector<std::string>& names) {
  return m.op("einsum", operands, {{"dims", m.dims(names)}});
}

TensorId renamed(TestModel& m, TensorId of, const std::string& from, const std::string& to) {
  return m.op("rename", {of}, {{"map", std::vector<Renaming>{{from, m.dims({to})[0]}}}});
}

TensorId input(TestModel& m, const std::string& name, const std::vector<std::string>& names) {
  return m.input(name, m.dims(names));
}
TensorId variable(TestModel& m, const std::string& name, const std::vector<std::string>& names) {
  return m.variable(name, m.dims(names), true);
}

// By Adam, to make a tensor small.
Model trained(TestModel& m, TensorId squared) {
  const TensorId loss = m.op("loss", "reduce_sum", {m.op("square", {squared})});
  m.output(loss);
  m.train({loss, "adam", {{"lr", 0.1}, {"beta1", 0.9}, {"beta2", 0.999}, {"eps", 1e-8}}});
  return m.finished();
}

Model two_layers(int64_t batch, int64_t io, int64_t hidden) {
  TestModel m({{"batch", batch}, {"io", io}, {"hidden", hidden}, {"unused", 64}, {"one", 1}});
  const TensorId x = input(m, "x", {"batch", "io"});
  const TensorId h =
      m.op("relu", {m.op("add", {einsum(m, {x, variable(m, "w", {"io", "hidden"})}, {"batch", "hidden"}),
                                 variable(m, "bias", {"hidden"})})});
  return trained(m, m.op("sub", {einsum(m, {h, variable(m, "v", {"hidden", "io"})}, {"batch", "io"}), x}));
}

// Activations take most of its memory.
Model many_layers(int64_t batch) {
  TestModel m({{"batch", batch}, {"io", 8}, {"hidden", 32}});
  TensorId x = input(m, "x", {"batch", "io"});
  for (const char* layer : {"a", "b", "c"}) {
    const std::string name = layer;
    const TensorId h = m.op(
        "tanh",
        {m.op("relu", {einsum(m, {x, variable(m, name + "_w", {"io", "hidden"})}, {"batch", "hidden"})})});
    x = m.op("tanh", {einsum(m, {h, variable(m, name + "_v", {"hidden", "io"})}, {"batch", "io"})});
  }
  return trained(m, x);
}

Model attention(int64_t length) {
  TestModel m(
      {{"batch", 4}, {"length", length}, {"memory", length}, {"model", 32}, {"heads", 3}, {"kv", 16}});
  const TensorId x = input(m, "x", {"batch", "length", "model"});
  const TensorId y = renamed(m, x, "length", "memory");
  const TensorId q =
      einsum(m, {x, variable(m, "wq", {"model", "heads", "kv"})}, {"batch", "length", "heads", "kv"});
  const TensorId k =
      einsum(m, {y, variable(m, "wk", {"model", "heads", "kv"})}, {"batch", "memory", "heads", "kv"});
  const TensorId weights =
      m.composite("weights", "softmax", {einsum(m, {q, k}, {"batch", "heads", "length", "memory"})},
                  {{"over", m.dims({"memory"})}});
  const TensorId o = einsum(m, {weights, k}, {"batch", "length", "heads", "kv"});
  return trained(m,
                 einsum(m, {o, variable(m, "wo", {"heads", "kv", "model"})}, {"batch", "length", "model"}));
}

Hardware hardware_of(Topology topology) {
  Hardware hardware;
  hardware.name = "test";
  hardware.flops["f32"] = 1e11;
  hardware.memory_bandwidth = 1e11;
  hardware.step_overhead_s = 1e-7;
  hardware.efficiency["einsum"] = 0.8;
  hardware.efficiency["elementwise"] = 0.1;
  Link link;
  link.latency_s = 1e-8;
  link.bytes_per_s = 1e10;
  hardware.axes["*"] = link;
  hardware.topology = topology;
  if (topology == Topology::kTwoLevel) {
    hardware.devices_per_node = 2;
    link.bytes_per_s = 1e11;
    hardware.inside = link;
  }
  return hardware;
}

CompileOptions on(const Hardware& hardware) {
  CompileOptions compiling;
  compiling.hardware = &hardware;
  return compiling;
}

SearchOptions options_of(int64_t memory_limit = 0) {
  SearchOptions options;
  options.entry = "train";
  options.memory_limit = memory_limit;
  options.threads = 2;
  return options;
}

struct Tried {
  Layout layout;
  double step_s;
  int64_t memory;
};

// Compiles every list of at most two axes for every dimension of more than one element, one after the other.
std::vector<Tried> brute_force(const Model& model, const Mesh& mesh, const Hardware& hardware,
                               bool allow_uneven = true) {
  std::vector<AxisList> lists = {{}};
  const auto axes = static_cast<int>(mesh.axes().size());
  for (int one = 0; one < axes; ++one) {
    lists.push_back({one});
    for (int other = 0; other < axes; ++other)
      if (one != other) lists.push_back({one, other});
  }
  std::vector<Layout> layouts = {{mesh, {}}};
  for (const Dim& dim : model.dims) {
    if (dim.size == 1 || dim.name == "unused") continue;
    std::vector<Layout> more;
    for (const Layout& layout : layouts)
      for (const AxisList& list : lists) {
        more.push_back(layout);
        if (!list.empty()) more.back().rules.push_back({dim.name, list, {}});
      }
    layouts = std::move(more);
  }
  std::vector<Tried> tried;
  CompileOptions compiling = on(hardware);
  compiling.allow_uneven = allow_uneven;
  for (const Layout& layout : layouts) {
    try {
      const Program program = compile(model, layout, compiling);
      const EntryPoint& entry = *program.find("train");
      const std::vector<StepCount> counts = predicted_counts(program, entry);
      const auto order = propose_device_order(program, entry, counts, hardware);
      tried.push_back({layout,
                       order ? order->step_s : predicted_time(program, entry, counts, hardware).step_s,
                       program.arena_bytes()});
    } catch (const UserError&) {
      continue;
    }
  }
  return tried;
}

bool fits(const Tried& one, int64_t limit) {
  return limit == 0 || one.memory <= limit;
}

double shortest(const std::vector<Tried>& tried, int64_t limit) {
  double least = 1e300;
  for (const Tried& one : tried)
    if (fits(one, limit)) least = std::min(least, one.step_s);
  return least;
}

// Of those whose step is at most 1 % longer than the shortest.
size_t fewest_rules(const std::vector<Tried>& tried, int64_t limit) {
  size_t least = SIZE_MAX;
  for (const Tried& one : tried)
    if (fits(one, limit) && one.step_s <= 1.01 * shortest(tried, limit))
      least = std::min(least, one.layout.rules.size());
  return least;
}

void check_best(const SearchResult& result, const std::vector<Tried>& tried, int64_t limit) {
  REQUIRE(result.is_proved);
  REQUIRE(!result.best.empty());
  CHECK(result.shortest_s == doctest::Approx(shortest(tried, limit)).epsilon(1e-9));
  CHECK(result.bound_s == doctest::Approx(result.shortest_s).epsilon(1e-6));
  const FoundLayout& best = result.best.front();
  CHECK(best.step_s <= 1.01 * result.shortest_s * (1 + 1e-9));
  CHECK(best.layout.rules.size() == fewest_rules(tried, limit));
  for (const FoundLayout& found : result.best) CHECK(fits({found.layout, found.step_s, found.memory}, limit));
  // Whatever is faster than the last family is as fast as a family before it.
  for (const Tried& one : tried) {
    if (!fits(one, limit) || one.step_s * 1.02 >= result.best.back().step_s) continue;
    CAPTURE(to_string(one.layout));
    CHECK(std::any_of(result.best.begin(), result.best.end(), [&](const FoundLayout& found) {
      return found.step_s <= one.step_s * 1.011 && one.step_s <= found.step_s * 1.011;
    }));
  }
}

void check_same(const Model& model, const Mesh& mesh, const Hardware& hardware) {
  const std::vector<Tried> tried = brute_force(model, mesh, hardware);
  int64_t least = INT64_MAX, most = 0;
  for (const Tried& one : tried) {
    least = std::min(least, one.memory);
    most = std::max(most, one.memory);
  }
  for (const int64_t limit : {int64_t{0}, most - 1, (least + most) / 2, least + (most - least) / 8, least}) {
    CAPTURE(limit);
    const SearchResult result = search_layouts(model, {{mesh, {}}}, hardware, options_of(limit));
    check_best(result, tried, limit);
    CHECK(result.counts.legal == static_cast<int64_t>(tried.size()));
  }
}

const Mesh kSquare({{"r", 2}, {"c", 2}});
const Mesh kOblong({{"r", 2}, {"c", 4}});

}  // namespace

TEST_CASE("the layout found is the best of all, within a limit of memory or without") {
  for (const Topology topology : {Topology::kTwoLevel, Topology::kFullyConnected, Topology::kTorus}) {
    CAPTURE(to_string(topology));
    const Hardware hardware = hardware_of(topology);
    check_same(two_layers(61, 31, 17), kOblong, hardware);
    if (kSanitized) return;
    check_same(two_layers(64, 32, 128), kSquare, hardware);
  }
  check_same(two_layers(64, 32, 128), Mesh({{"a", 2}, {"b", 3}, {"c", 2}}), hardware_of(Topology::kTorus));
}

TEST_CASE("the same where dimensions are renamed, and one has fewer elements than there are devices") {
  check_same(attention(16), Mesh({{"all", 4}}), hardware_of(Topology::kRing));
  if (!kSanitized) check_same(attention(13), kSquare, hardware_of(Topology::kFullyConnected));
}

namespace {

// Of every rule set, and of every set of the rules that are decided first, which completes to it.
void check_bounds(const Model& model, const Mesh& mesh, const Hardware& hardware, double nearest) {
  const PreparedModel prepared(model, on(hardware));
  const Program alone = compile(model, {}, {});
  const std::vector<PreparedModel::Part> parts = prepared.parts("train");
  const Layout fixed{mesh, {}};
  const SearchSpace space(model, fixed, hardware, {});
  const LayoutBound bound(space, model, hardware, alone, parts, "train");
  double nearest_step = 0, nearest_arena = 0;
  space.each([&](RuleChoice choice, bool) {
    const Program program = prepared.compile(space.layout(choice));
    const EntryPoint& entry = *program.find("train");
    const std::vector<StepCount> counts = predicted_counts(program, entry);
    double step_s = predicted_time(program, entry, counts, hardware).step_s;
    nearest_step = std::max(nearest_step, bound.seconds(choice) / step_s);
    if (const auto order = propose_device_order(program, entry, counts, hardware)) step_s = order->step_s;
    const auto arena = static_cast<double>(program.arena_bytes());
    nearest_arena = std::max(nearest_arena, bound.bytes(choice) / arena);
    CAPTURE(to_string(program.layout));
    std::vector<uint16_t> partial(choice.size(), kUndecided);
    for (size_t depth = 0; depth <= choice.size(); ++depth) {
      CHECK(bound.seconds(partial) <= step_s * (1 + 1e-9));
      CHECK(bound.bytes(partial) <= arena * (1 + 1e-9));
      CHECK(bound.lasting_bytes(partial) <= bound.bytes(partial));
      if (depth < choice.size()) partial[bound.order()[depth]] = choice[bound.order()[depth]];
    }
    return true;
  });
  // The bound is not trivial.
  CHECK(nearest_step > nearest);
  CHECK(nearest_arena > 0.6);
}

}  // namespace

TEST_CASE("no step and no arena is below its bound, however few of the rules are decided") {
  Model in_parts = two_layers(64, 31, 128), split_state = two_layers(61, 32, 17);
  in_parts.train->microbatches = 4;
  split_state.train->shard_state_over = {"r"};
  const Hardware torus = hardware_of(Topology::kTorus);
  check_bounds(in_parts, kSquare, torus, 0.6);
  check_bounds(split_state, kSquare, torus, 0.4);
  if (kSanitized) return;
  for (const Topology topology : {Topology::kTwoLevel, Topology::kFullyConnected, Topology::kRing})
    check_bounds(two_layers(61, 31, 128), kOblong, hardware_of(topology), 0.6);
  check_bounds(attention(13), kSquare, torus, 0.6);
  // Copies within nodes that the device makes itself.
  Hardware nodes = hardware_of(Topology::kTwoLevel);
  nodes.inside->overlaps = false;
  nodes.inside->bytes_per_s = 2e10;
  check_bounds(two_layers(61, 31, 128), kOblong, nodes, 0.5);
  // A cache, links that kernels wait for, and groups of axes with a link of their own.
  Hardware cached = torus;
  cached.memory_bandwidth = Curve({{1e3, 8e11}, {1e5, 2e10}, {1e6, 1e10}});
  cached.write_bandwidth = Curve({{1e3, 4e11}, {1e6, 3e10}});
  cached.overlap = 0.5;
  cached.axes["*"].overlaps = false;
  cached.axes["r+c"] = cached.axes["*"];
  cached.axes["r+c"].bytes_per_s = Curve(5e11);
  cached.axes["*"].collectives["all_reduce"] = {1e-7, Curve({{1e3, 1e9}, {1e5, 3e9}})};
  check_bounds(two_layers(64, 32, 128), kOblong, cached, 0.5);
  check_bounds(attention(16), kSquare, cached, 0.5);
  // A processor that issues kernels, and fixed times.
  Hardware issued = nodes;
  issued.issue_s = 1e-7;
  issued.program_overhead_s = 1e-5;
  issued.axes["*"].fixed_s = issued.inside->fixed_s = 1e-6;
  issued.inside->slows_kernels = issued.axes["*"].slowed_by_kernels = 1.5;
  issued.wider = {{4, issued.axes["*"]}};
  issued.inside->members_share = Curve({{2, 0.5}, {4, 1}});
  issued.tables["attention"] = {{{4, 16}, {1, 4}, {1}}, {0.1, 0.2, 0.4, 0.8}};
  issued.efficiency["widened_einsum"] = 0.5;
  check_bounds(two_layers(61, 31, 128), kOblong, issued, 0.4);
  check_bounds(attention(16), kSquare, issued, 0.3);
}

TEST_CASE("a bound for which there was no time is lower") {
  const Model model = two_layers(61, 31, 128);
  const Hardware hardware = hardware_of(Topology::kRing);
  const PreparedModel prepared(model, on(hardware));
  const Program alone = compile(model, {}, {});
  const std::vector<PreparedModel::Part> parts = prepared.parts("train");
  const SearchSpace space(model, {kOblong, {}}, hardware, {});
  LayoutBound whole(space, model, hardware, alone, parts, "train");
  LayoutBound part(space, model, hardware, alone, parts, "train");
  LayoutBound nothing(space, model, hardware, alone, parts, "train");
  int asked = 0;
  whole.fill([&] { return ++asked < 0; });
  const int all = asked;
  part.fill([&] { return --asked < all / 2; });
  nothing.fill([] { return true; });
  const std::vector<uint16_t> choice(space.dims().size(), kUndecided);
  CHECK(nothing.seconds(choice) == 0);
  CHECK(part.seconds(choice) > 0);
  CHECK(part.seconds(choice) < whole.seconds(choice));
}

TEST_CASE("the best is found of a model with microbatches, and of one that splits its optimizer's state") {
  Model in_parts = two_layers(64, 31, 128), split_state = two_layers(61, 32, 17);
  in_parts.train->microbatches = 4;
  split_state.train->shard_state_over = {"r"};
  for (const Model& model : {in_parts, split_state}) {
    check_same(model, kSquare, hardware_of(Topology::kTorus));
    if (!kSanitized) check_same(model, kOblong, hardware_of(Topology::kTorus));
  }
}

TEST_CASE("a layout that computes tensors again competes with those that fit as they are") {
  const Model model = many_layers(512);
  const Mesh mesh({{"all", 4}});
  const Hardware hardware = hardware_of(Topology::kTorus);
  const std::vector<Tried> tried = brute_force(model, mesh, hardware);
  const auto by_time = [](const Tried& a, const Tried& b) { return a.step_s < b.step_s; };
  const Tried& fastest = *std::min_element(tried.begin(), tried.end(), by_time);
  int64_t fitted = 0;
  for (const int64_t percent : {95, 85, 75, 60}) {
    const int64_t limit = fastest.memory * percent / 100;
    CAPTURE(limit);
    SearchOptions options = options_of(limit);
    options.makes_fit = true;
    const SearchResult found = search_layouts(model, {{mesh, {}}}, hardware, options),
                       as_is = search_layouts(model, {{mesh, {}}}, hardware, options_of(limit));
    // The shortest step of all layouts, each of which compile_within() makes fit.
    double least = 1e300;
    for (const Tried& one : tried) {
      CompileOptions compiling = on(hardware);
      compiling.entries = {"train"};
      const FittedProgram made =
          compile_within(model, one.layout, compiling, limit, hardware, FitEffort::kLittle);
      if (made.too_large || compile(model, one.layout, on(hardware)).find("evaluate")->arena_bytes > limit)
        continue;
      const EntryPoint& train = *made.program.find("train");
      const double step_s =
          predicted_time(made.program, train, predicted_counts(made.program, train), hardware).step_s;
      least = std::min(least, made.recomputation || made.turned > 0 ? step_s : one.step_s);
    }
    CHECK(found.best.empty() == (least == 1e300));
    if (found.best.empty()) continue;
    CHECK(found.is_proved);
    CHECK(found.shortest_s == doctest::Approx(least).epsilon(1e-9));
    if (!as_is.best.empty()) CHECK(found.shortest_s <= as_is.shortest_s);
    for (const FoundLayout& one : found.best) CHECK(one.memory <= limit);
    fitted += found.counts.fitted;
  }
  CHECK(fitted > 0);
}

TEST_CASE("where nothing fits, the smallest is found") {
  const Model model = two_layers(64, 32, 128);
  const Hardware hardware = hardware_of(Topology::kTorus);
  const std::vector<Tried> tried = brute_force(model, kOblong, hardware);
  int64_t least = INT64_MAX;
  for (const Tried& one : tried) least = std::min(least, one.memory);
  for (const int64_t limit : {least - 1, int64_t{1}}) {
    const SearchResult result = search_layouts(model, {{kOblong, {}}}, hardware, options_of(limit));
    CHECK(result.best.empty());
    REQUIRE(result.smallest.has_value());
    CHECK(result.smallest->memory == least);
  }
}

TEST_CASE("uneven splits can be left out") {
  const Model model = two_layers(6, 9, 12);
  const Hardware hardware = hardware_of(Topology::kTorus);
  SearchOptions options = options_of();
  options.limits.allow_uneven = false;
  const Mesh mesh({{"r", 3}, {"c", 4}});
  const SearchResult result = search_layouts(model, {{mesh, {}}}, hardware, options);
  const std::vector<Tried> tried = brute_force(model, mesh, hardware, false);
  CHECK(result.counts.legal == static_cast<int64_t>(tried.size()));
  CHECK(result.best[0].step_s == doctest::Approx(shortest(tried, 0)).epsilon(0.011));
}

TEST_CASE("fixed rules stay, and only the dimensions asked for are split") {
  const Model model = attention(16);
  const Hardware hardware = hardware_of(Topology::kTorus);
  const SearchResult kept = search_layouts(model, {{kOblong, {{"batch", {1}, {}}}}}, hardware, options_of());
  for (const FoundLayout& found : kept.best) CHECK(found.layout.rules[0].dim == "batch");
  SearchOptions options = options_of();
  options.limits.dims = {"heads", "kv"};
  options.limits.most_axes = 1;
  const SearchResult few = search_layouts(model, {{kOblong, {}}}, hardware, options);
  CHECK(few.counts.rule_sets == 9);
  CHECK(few.counts.legal == 7);
  for (const FoundLayout& found : few.best)
    for (const Rule& rule : found.layout.rules) CHECK((rule.dim == "heads" || rule.dim == "kv"));
  // The fixed rules must be legal themselves.
  CHECK_THROWS_AS(
      search_layouts(model, {{kOblong, {{"heads", {0}, {}}, {"kv", {0}, {}}}}}, hardware, options_of()),
      UserError);
}

TEST_CASE("of meshes and axes that are mirror images one is searched, where places make no difference") {
  const Model model = two_layers(64, 32, 128);
  const std::vector<Layout> meshes = {
      {Mesh({{"r", 2}, {"c", 8}}), {}}, {Mesh({{"r", 4}, {"c", 4}}), {}}, {Mesh({{"r", 8}, {"c", 2}}), {}}};
  const auto counts = [&](const Hardware& hardware) {
    return search_layouts(model, meshes, hardware, options_of()).counts;
  };
  const SearchCounts torus = counts(hardware_of(Topology::kTorus)),
                     ring = counts(hardware_of(Topology::kRing));
  CHECK(torus.meshes == 2);
  CHECK(torus.mirrored > 0);
  CHECK(ring.meshes == 3);
  CHECK(ring.mirrored == 0);
  Hardware unlike = hardware_of(Topology::kTorus);
  unlike.axes["c"] = unlike.axes["*"];
  unlike.axes["c"].latency_s = 1;
  CHECK(counts(unlike).meshes == 3);
}

TEST_CASE("the number of threads changes nothing") {
  const Model model = attention(16);
  const Hardware hardware = hardware_of(Topology::kTorus);
  SearchOptions one = options_of(), three = options_of();
  one.threads = 1;
  three.threads = 3;
  const SearchResult a = search_layouts(model, {{kOblong, {}}}, hardware, one);
  const SearchResult b = search_layouts(model, {{kOblong, {}}}, hardware, three);
  CHECK(a.counts.compiled == b.counts.compiled);
  CHECK(a.counts.left_out() > 0);
  REQUIRE(a.best.size() == b.best.size());
  for (size_t i = 0; i < a.best.size(); ++i) {
    CHECK(to_string(a.best[i].layout) == to_string(b.best[i].layout));
    CHECK(a.best[i].equals == b.best[i].equals);
  }
}

TEST_CASE("a search that is stopped says so, has the best so far, and how much better another one may be") {
  const Model model = attention(16);
  const Hardware hardware = hardware_of(Topology::kTorus);
  const double shortest_s = search_layouts(model, {{kOblong, {}}}, hardware, options_of()).shortest_s;
  for (const int patience : {0, 6, 10, 100}) {
    SearchOptions options = options_of();
    options.threads = 1;
    int asked = 0;
    options.stops = [&] { return ++asked > patience; };
    const SearchResult result = search_layouts(model, {{kOblong, {}}}, hardware, options);
    CHECK(!result.is_proved);
    CHECK(result.counts.compiled <= std::max(patience, 1));
    REQUIRE(!result.best.empty());
    CHECK(result.bound_s <= shortest_s * (1 + 1e-9));
    CHECK(result.shortest_s >= shortest_s * (1 - 1e-9));
    CHECK(result.gap() >= 0);
    CHECK(result.gap() == doctest::Approx(1 - result.bound_s / result.shortest_s));
  }
}

TEST_CASE("a compilation is stopped between its passes, and does not count") {
  const Model model = attention(16);
  SearchOptions options = options_of();
  options.threads = 1;
  int asked = 0;
  options.stops = [&] { return ++asked > 3; };
  const SearchResult result = search_layouts(model, {{kOblong, {}}}, hardware_of(Topology::kTorus), options);
  CHECK(asked == 4);
  CHECK(result.counts.compiled == 1);  // so that there is a result
  CHECK(result.best.size() == 1);
}

TEST_CASE("the plain layouts of every mesh come before all others, and before any bound") {
  const Model model = attention(16);
  const Hardware hardware = hardware_of(Topology::kRing);
  const std::vector<Layout> meshes = {{kOblong, {}}, {Mesh({{"r", 4}, {"c", 2}}), {}}};
  const PreparedModel prepared(model, on(hardware));
  std::vector<std::vector<double>> steps;  // by mesh, in the order in which they are tried
  for (const Layout& fixed : meshes) {
    const SearchSpace space(model, fixed, hardware, {});
    steps.emplace_back();
    for (const std::vector<uint16_t>& choice : plain_choices(model, space)) {
      const Program program = prepared.compile(space.layout(choice), {"train"});
      const EntryPoint& entry = *program.find("train");
      steps.back().push_back(
          predicted_time(program, entry, predicted_counts(program, entry), hardware).step_s);
    }
  }
  REQUIRE(steps[0].size() == steps[1].size());
  REQUIRE(steps[0].size() == 6);
  // Eight layouts are compiled at a time: four of each mesh, and then the others.
  for (const auto& [of_each, compiled] : {std::pair(4, 8), std::pair(6, 12)}) {
    double shortest_s = steps[0][0];
    for (const std::vector<double>& of_mesh : steps)
      shortest_s = std::min(shortest_s, *std::min_element(of_mesh.begin(), of_mesh.begin() + of_each));
    SearchOptions options = options_of();
    bool is_late = false;
    options.stops = [&] { return is_late; };
    options.progress = [&, most = compiled](const SearchOptions::Progress& progress) {
      is_late = progress.counts.compiled >= most;
    };
    const SearchResult result = search_layouts(model, meshes, hardware, options);
    CHECK(result.counts.compiled == compiled);
    CHECK(result.shortest_s == doctest::Approx(shortest_s).epsilon(1e-9));
    CHECK(!result.is_complete);
    CHECK(result.bound_s == 0);
    CHECK(result.gap() == 1);
    // A search that is stopped has no time left to make reports, so it has them already.
    CHECK(result.best.size() > 1);
    for (const FoundLayout& found : result.best) {
      REQUIRE(found.report);
      CHECK(found.report->time->step_s == doctest::Approx(found.step_s).epsilon(1e-12));
      CHECK(found.report->memory.peak <= found.memory);
      CHECK(to_string(found.report->layout) == to_string(found.layout));
    }
  }
}

}  // namespace mtfc::layout_search_test
