#include "runtime/testing/differential.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/compile/fit_memory.h"
#include "core/compile/memory_bound.h"
#include "core/compile/pipeline.h"
#include "core/compile/remat_graph.h"
#include "core/cost/cost.h"
#include "core/model/entry_points.h"
#include "core/program/program_check.h"
#include "runtime/comm/comm_lockstep.h"
#include "runtime/execute/executor.h"
#include "runtime/testing/reference.h"
#include "runtime/testing/workspace_check.h"

namespace mtfc {
namespace {

constexpr int kSteps = 2;           // of training
constexpr double kIllScaled = 1e5;  // larger values are not compared

// The expected results of one run of an entry point, by the name of the output or variable.
struct Expected {
  WholeTensors outputs;
  WholeTensors variables;  // afterwards
  double rounding = 0;     // what floats may differ by
};

bool has(const Graph& graph, DType dtype) {
  return std::any_of(graph.tensors().begin(), graph.tensors().end(),
                     [&](const Tensor& tensor) { return tensor.type.dtype == dtype; });
}

// The largest difference that floats may have, as a share of the largest value.
double rounding_in(const Graph& graph) {
  return has(graph, DType::kBF16) ? 0x1p-4 : has(graph, DType::kF32) ? 2e-5 : 1e-11;
}

// Results of the plain graph. `largest` grows to the largest value on the way.
Expected interpreted(const EntryGraph& entry, const WholeTensors& leaves, const WholeTensors& variables,
                     int64_t step, double& largest) {
  ReferenceAnswer answer = reference_answer(entry, leaves, variables, step);
  largest = std::max(largest, answer.largest);
  return {std::move(answer.outputs), std::move(answer.variables), 0};
}

// "" where all of `found` is as expected: floats to rounding, others exactly.
std::string mismatch(const WholeTensors& expected, const WholeTensors& found, double rounding) {
  for (const auto& [name, tensor] : expected) {
    const double allowed = is_float(tensor.type.dtype) ? rounding : 0;
    const WholeTensor& other = found.at(name);
    if (other.type != tensor.type)
      return fmt::format("'{}' is {}, not {}", name, to_string(other.type), to_string(tensor.type));
    for (size_t i = 0; i < tensor.values.size(); ++i)
      if (!(std::abs(tensor.values[i] - other.values[i]) <= allowed))
        return fmt::format("'{}' at element {}: expected {}, found {}", name, i, tensor.values[i],
                           other.values[i]);
  }
  return "";
}

std::string wrong_counts(const EntryPoint& entry, const std::vector<StepCount>& predicted,
                         const std::vector<StepCount>& counted) {
  for (size_t s = 0; s < predicted.size(); ++s) {
    const StepCount &a = predicted[s], &b = counted[s];
    const bool contracts = entry.steps[s].multiplies();
    if (a.flops != b.flops || a.elements != b.elements || a.bytes_sent != b.bytes_sent ||
        (contracts && a.flops_total != b.flops_total))
      return fmt::format(
          "step {} '{}': predicted {} flops ({} in all), {} elements, {} bytes; counted {} ({}), {}, {}", s,
          entry.steps[s].name, a.flops, a.flops_total, a.elements, a.bytes_sent, b.flops, b.flops_total,
          b.elements, b.bytes_sent);
  }
  return "";
}

// A program on all of its devices in this process.
class TrialRun {
 public:
  TrialRun(const Program& program, const WholeTensors& leaves)
      : program_(program),
        leaves_(leaves),
        processes_(Processes::alone()),
        comm_(program.mesh(), processes_),
        // Tiles so small that what random cases fuse is cut into several.
        executor_(program, comm_, {.fused_tile = program.mesh().devices() > 1 ? 6 : kFusedTile}) {}

  /// "" or what differs from `expected`, whose names the outputs and variables have.
  std::string step(const char* name, int64_t step, const Expected& expected) {
    const EntryPoint& entry = *program_.find(name);
    const Expected found = results(name, step);
    std::string problem = mismatch(expected.outputs, found.outputs, expected.rounding);
    if (problem.empty()) problem = mismatch(expected.variables, found.variables, expected.rounding);
    if (problem.empty())
      problem = wrong_counts(entry, predicted_counts(program_, entry), executor_.counts(entry));
    if (problem.empty()) problem = workspace_fault(program_, entry);
    return problem.empty() ? "" : fmt::format("{}, step {}: {}", name, step, problem);
  }

  /// What a step gives.
  Expected results(const char* name, int64_t step) {
    const EntryPoint& entry = *program_.find(name);
    executor_.load(entry);
    for (const Binding& input : entry.inputs)
      for (size_t device = 0; device < executor_.devices(); ++device)
        fill_shard(leaves_.at(input.name), executor_.shard(entry, input.value, device));
    executor_.run(entry, step);
    return {outputs(entry), variables(), 0};
  }

  void set_variables(const WholeTensors& values) {
    for (size_t i = 0; i < program_.variables.size(); ++i)
      for (size_t device = 0; device < executor_.devices(); ++device)
        fill_shard(values.at(program_.variables[i].decl.name), executor_.variable(i, device));
  }

  WholeTensors variables() const {
    WholeTensors found;
    for (size_t i = 0; i < program_.variables.size(); ++i) {
      const VariableDecl& decl = program_.variables[i].decl;
      found[decl.name] = assembled(decl.name, decl.type,
                                   shards([&](size_t device) { return executor_.variable(i, device); }));
    }
    return found;
  }

 private:
  template <typename ShardOf>
  std::vector<LocalShard> shards(ShardOf shard_of) const {
    std::vector<LocalShard> shards;
    for (size_t device = 0; device < executor_.devices(); ++device) shards.push_back(shard_of(device));
    return shards;
  }

  WholeTensors outputs(const EntryPoint& entry) const {
    WholeTensors found;
    for (const Binding& output : entry.outputs)
      found[output.name] =
          assembled(output.name, entry.values[output.value].type,
                    shards([&](size_t device) { return executor_.shard(entry, output.value, device); }));
    return found;
  }

  const Program& program_;
  const WholeTensors& leaves_;
  Processes processes_;
  LockstepComm comm_;
  Executor executor_;
};

struct ExpectedRun {
  std::vector<Expected> train;  // by step
  Expected evaluate;
  double largest = 1;  // value on the way
};

WholeTensors variables_of(const Model& model, const WholeTensors& leaves) {
  WholeTensors variables;
  for (const VariableDecl& variable : all_variables(model))
    variables[variable.name] =
        variable.optimizer_state ? from_host(HostTensor(variable.type)) : leaves.at(variable.name);
  return variables;
}

ExpectedRun expected_of(const Model& model, const WholeTensors& leaves) {
  ExpectedRun expected;
  WholeTensors variables = variables_of(model, leaves);
  if (has_train_entry(model)) {
    const EntryGraph train = plain_entry(declared_entry(model, "train"));
    for (int step = 0; step < kSteps; ++step) {
      expected.train.push_back(interpreted(train, leaves, variables, step, expected.largest));
      variables = expected.train.back().variables;
    }
  }
  expected.evaluate =
      interpreted(plain_entry(entry_named(model, "evaluate", {})), leaves, variables, 0, expected.largest);
  const double rounding = rounding_in(model.graph) * expected.largest;
  expected.evaluate.rounding = rounding;
  for (Expected& step : expected.train) step.rounding = rounding;
  return expected;
}

// "" or how a run of `program` differs from what is expected. `initial`: what init gave on one device, or
// what it gives now where that is empty.
std::string try_program(const Program& program, const Model& model, const WholeTensors& leaves,
                        const ExpectedRun& expected, WholeTensors& initial) {
  TrialRun run(program, leaves);
  run.set_variables(variables_of(model, leaves));
  std::string problem = run.step("init", 0, {{}, initial, 0});
  if (initial.empty()) initial = run.variables();
  run.set_variables(variables_of(model, leaves));
  for (size_t step = 0; step < expected.train.size() && problem.empty(); ++step)
    problem = run.step("train", static_cast<int64_t>(step), expected.train[step]);
  if (problem.empty()) problem = run.step("evaluate", 0, expected.evaluate);
  return problem;
}

// The way in which a case fails: `under the layout`, say, and whether values differ or a pass has failed.
std::pair<std::string, bool> kind_of_failure(const std::string& problem) {
  return {problem.substr(0, problem.find(':')), problem.find(": expected ") != std::string::npos};
}

// Tries smaller cases, one change at a time, and keeps those that still fail in the same way.
class Shrinker {
 public:
  explicit Shrinker(RandomCase failing)
      : best_(std::move(failing)), kind_(kind_of_failure(try_case(best_).problem)) {}

  RandomCase run() {
    for (bool smaller = true; smaller && attempts_ < kMostAttempts;) {
      smaller = false;
      smaller |= deliver_less();
      smaller |= drop_items();
      smaller |= shrink_sizes();
      smaller |= simplify_layout();
    }
    return best_;
  }

 private:
  static constexpr int kMostAttempts = 4000;

  bool keep_if_failing(RandomCase candidate) {
    if (++attempts_ > kMostAttempts) return false;
    try {
      WholeTensors leaves;
      const Model model = model_of(candidate, leaves);
      std::erase_if(candidate.layout.rules,
                    [&](const Rule& rule) { return !contains(model.dims, rule.dim); });
      if (!is_legal(model, layout_of(candidate))) return false;
      const std::string problem = try_case(candidate).problem;
      if (problem.empty() || kind_of_failure(problem) != kind_) return false;
    } catch (const std::exception&) {
      return false;
    }
    best_ = std::move(candidate);
    return true;
  }

  // Tries to take each element of a list away.
  template <typename List>
  bool drop_from(List RandomCase::*list) {
    bool dropped = false;
    for (size_t i = (best_.*list).size(); i-- > 0;) {
      RandomCase candidate = best_;
      (candidate.*list).erase((candidate.*list).begin() + static_cast<std::ptrdiff_t>(i));
      dropped |= keep_if_failing(std::move(candidate));
    }
    return dropped;
  }

  bool deliver_less() {
    bool less = drop_from(&RandomCase::assignments);
    if (best_.loss) {
      RandomCase candidate = best_;
      candidate.loss.reset();
      less |= keep_if_failing(std::move(candidate));
    }
    less |= drop_from(&RandomCase::shard_state_over);
    less |= drop_from(&RandomCase::annotations);
    return drop_from(&RandomCase::outputs) || less;
  }

  bool drop_items() {
    bool dropped = false;
    for (size_t i = best_.items.size(); i-- > 0;) {
      if (i >= best_.items.size()) continue;
      dropped |= bypass(i) || replace_by_leaf(i) || without_operands(i);
      RandomCase candidate = best_;
      if (i < best_.items.size() && remove_unused(candidate, i))
        dropped |= keep_if_failing(std::move(candidate));
    }
    return dropped;
  }

  template <typename Change>
  static void for_each_ref(RandomCase& of, Change change) {
    for (Item& item : of.items)
      for (TensorRef& ref : item.operands) change(ref);
    for (TensorRef& ref : of.outputs) change(ref);
    for (auto& [variable, value] : of.assignments) change(value);
    if (of.loss) change(*of.loss);
  }

  // Takes an item away that nothing uses.
  static bool remove_unused(RandomCase& from, size_t item) {
    bool used = false;
    for_each_ref(from, [&](TensorRef& ref) { used |= ref.item == item; });
    for (const auto& [variable, value] : from.assignments) used |= variable == item;
    if (used) return false;
    std::erase_if(from.annotations,
                  [&](const DrawnAnnotation& annotation) { return annotation.tensor.item == item; });
    for (DrawnAnnotation& annotation : from.annotations)
      annotation.tensor.item -= annotation.tensor.item > item;
    from.items.erase(from.items.begin() + static_cast<std::ptrdiff_t>(item));
    for_each_ref(from, [&](TensorRef& ref) { ref.item -= ref.item > item; });
    for (auto& [variable, value] : from.assignments) variable -= variable > item;
    return true;
  }

  // Lets the users of an item take one of its operands instead.
  bool bypass(size_t item) {
    for (const TensorRef& operand : std::vector<TensorRef>(best_.items[item].operands)) {
      RandomCase candidate = best_;
      for_each_ref(candidate, [&](TensorRef& ref) {
        if (ref.item == item) ref = operand;
      });
      remove_unused(candidate, item);
      if (keep_if_failing(std::move(candidate))) return true;
    }
    return false;
  }

  bool replace_by_leaf(size_t item) {
    if (best_.items[item].operands.empty()) return false;
    WholeTensors leaves;
    const Model model = model_of(best_, leaves);
    const TensorId id = model.graph.find(fmt::format("t{}", item));
    if (id == kNoTensor) return false;
    const TensorType& type = model.graph.type(id);
    RandomCase candidate = best_;
    const Fill fill = is_float(type.dtype) ? Fill::kPositive : Fill::kBool;
    candidate.items[item] = {.kind = "input", .type = type, .fill = fill};
    return keep_if_failing(std::move(candidate));
  }

  // Fewer tensors to differentiate, or operands to contract.
  bool without_operands(size_t item) {
    const Item& now = best_.items[item];
    if (now.kind != "gradients" && now.kind != "einsum") return false;
    for (size_t i = now.operands.size(); i-- > 1;) {
      RandomCase candidate = best_;
      std::vector<TensorRef>& operands = candidate.items[item].operands;
      operands.erase(operands.begin() + static_cast<std::ptrdiff_t>(i));
      if (now.kind == "gradients")
        for_each_ref(candidate, [&](TensorRef& ref) {
          if (ref.item == item && ref.result >= i) ref.result -= ref.result > 0;
        });
      if (keep_if_failing(std::move(candidate))) return true;
    }
    return false;
  }

  bool shrink_sizes() {
    bool smaller = false;
    for (const auto& [name, size] : std::map<std::string, int64_t>(best_.sizes))
      for (int64_t less = 1; less < best_.sizes.at(name); ++less) {
        RandomCase candidate = best_;
        // Dimensions of one size change together, or a renaming would not fit.
        for (auto& [other, other_size] : candidate.sizes)
          if (other == name || (pairs_ && other_size == size)) other_size = less;
        if (keep_if_failing(std::move(candidate))) {
          smaller = true;
          break;
        }
      }
    pairs_ = !pairs_;
    return smaller;
  }

  bool simplify_layout() {
    bool simpler = false;
    if (best_.layout.propagate) {
      RandomCase candidate = best_;
      candidate.layout.propagate = false;
      simpler |= keep_if_failing(std::move(candidate));
    }
    if (!best_.layout.between.empty()) {
      RandomCase candidate = best_;
      candidate.layout.between.clear();
      simpler |= keep_if_failing(std::move(candidate));
    }
    const auto with_state = [&](auto change) {
      if (!best_.layout.state.is_stated()) return;
      RandomCase candidate = best_;
      change(candidate.layout.state);
      simpler |= keep_if_failing(std::move(candidate));
    };
    if (std::any_of(best_.items.begin(), best_.items.end(),
                    [](const Item& item) { return item.region != 0; })) {
      RandomCase candidate = best_;
      for (Item& item : candidate.items) item.region = 0;
      simpler |= keep_if_failing(std::move(candidate));
    }
    if (!best_.layout.rings.empty()) {
      RandomCase candidate = best_;
      candidate.layout.rings.clear();
      simpler |= keep_if_failing(std::move(candidate));
    }
    with_state([](StateSharding& state) { state = {}; });
    with_state([](StateSharding& state) { state.variables = false; });
    with_state([](StateSharding& state) { state.regather.clear(); });
    for (size_t a = best_.annotations.size(); a-- > 0;)
      for (size_t s = best_.annotations[a].splits.size(); s-- > 0;) {
        RandomCase candidate = best_;
        std::vector<Rule>& splits = candidate.annotations[a].splits;
        splits.erase(splits.begin() + static_cast<std::ptrdiff_t>(s));
        simpler |= keep_if_failing(std::move(candidate));
      }
    for (size_t r = best_.layout.rules.size(); r-- > 0;) {
      RandomCase candidate = best_;
      candidate.layout.rules.erase(candidate.layout.rules.begin() + static_cast<std::ptrdiff_t>(r));
      if (keep_if_failing(std::move(candidate))) {
        simpler = true;
        continue;
      }
      for (size_t a = best_.layout.rules[r].axes.size(); a-- > 0;) {
        candidate = best_;
        AxisList& axes = candidate.layout.rules[r].axes;
        axes.erase(axes.begin() + static_cast<std::ptrdiff_t>(a));
        simpler |= !axes.empty() && keep_if_failing(std::move(candidate));
      }
    }
    for (size_t a = 0; a < best_.layout.mesh.axes().size(); ++a)
      for (int64_t size = 1; size < best_.layout.mesh.axes()[a].size; ++size) {
        std::vector<Axis> axes = best_.layout.mesh.axes();
        axes[a].size = size;
        RandomCase candidate = best_;
        candidate.layout.mesh = Mesh(axes);
        simpler |= keep_if_failing(std::move(candidate));
      }
    return simpler;
  }

  RandomCase best_;
  std::pair<std::string, bool> kind_;
  int attempts_ = 0;
  bool pairs_ = false;
};

// A compiled program must pass the check of saved programs.
Program checked(Program program) {
  if (const std::optional<ProgramFault> fault = find_program_fault(program))
    throw InternalError(fault->pointer + ": " + fault->what());
  return program;
}

}  // namespace

Outcome try_case(const RandomCase& random_case) {
  WholeTensors leaves;
  const Model model = model_of(random_case, leaves);
  const ExpectedRun expected = expected_of(model, leaves);
  if (expected.largest >= kIllScaled) return {true, ""};
  const char* where = "on one device: ";
  try {
    WholeTensors initial;
    const Program single = checked(compile(model, {}, {}));
    std::string problem = try_program(single, model, leaves, expected, initial);
    if (!problem.empty()) return {false, where + problem};
    where = "under the layout: ";
    const Program split = checked(compile(model, layout_of(random_case), {}));
    problem = try_program(split, model, leaves, expected, initial);
    return {false, problem.empty() ? "" : where + problem};
  } catch (const std::exception& error) {
    return {false, where + std::string(error.what())};
  }
}

LimitOutcome compare_limits(const RandomCase& random_case) {
  WholeTensors leaves;
  const Model model = model_of(random_case, leaves);
  LimitOutcome outcome;
  if (!has_train_entry(model)) return outcome;
  const ExpectedRun plain = expected_of(model, leaves);
  if (plain.largest >= kIllScaled) return outcome;
  Hardware hardware;
  hardware.flops["f32"] = hardware.flops["f64"] = 1e9;
  hardware.memory_bandwidth = 1e9;
  hardware.axes["*"] = {};
  hardware.axes["*"].bytes_per_s = 1e9;
  const Layout layout = layout_of(random_case);
  const Program program = compile(model, layout, {});
  TrialRun run(program, leaves);
  run.set_variables(variables_of(model, leaves));
  std::vector<Expected> expected;
  for (int step = 0; step < kSteps; ++step) {
    expected.push_back(run.results("train", step));
    expected.back().rounding = plain.train.front().rounding;
  }
  const auto compare = [&](const Program& other, const std::string& what) {
    TrialRun again(other, leaves);
    again.set_variables(variables_of(model, leaves));
    for (int step = 0; step < kSteps && outcome.fault.empty(); ++step)
      outcome.fault = again.step("train", step, expected[static_cast<size_t>(step)]);
    if (!outcome.fault.empty()) outcome.fault = what + ": " + outcome.fault;
  };
  const EntryPoint& train = *program.find("train");
  const int64_t most = program.arena_bytes(), least = least_memory(program, train);
  for (const int64_t limit : {most - 1, least + (most - least) * 3 / 4, least + (most - least) / 2, least}) {
    FittedProgram fitted = compile_within(model, layout, {}, limit, hardware);
    if (!fitted.recomputation) continue;
    ++outcome.limits;
    compare(checked(std::move(fitted.program)), fmt::format("within {} of {} bytes", limit, most));
  }
  // The arenas of small tensors leave few limits, so some tensors are also chosen at random.
  const RematGraph graph(PreparedModel(model, {}).parts("train"), program, train, hardware);
  uint64_t random = random_case.seed;
  Plan some;
  for (const size_t tensor : graph.choices()) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    if (random >> 63 == 0) some.recomputed.insert(graph.name(tensor));
  }
  if (some.recomputed.empty()) return outcome;
  ++outcome.sets;
  compare(checked(compile(model, layout, {}, some)),
          fmt::format("with {} tensors made again", some.recomputed.size()));
  return outcome;
}

RandomCase shrunk(RandomCase failing) {
  return Shrinker(std::move(failing)).run();
}

}  // namespace mtfc
