#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <map>
#include <memory>
#include <optional>

#include "cmd/command.h"
#include "cmd/files/family_files.h"
#include "cmd/generating/decode_verification.h"
#include "cmd/launch/execution.h"
#include "cmd/launch/launch.h"
#include "cmd/options/command_line.h"
#include "cmd/options/model_options.h"
#include "cmd/options/option_checks.h"
#include "cmd/running/input_data.h"
#include "cmd/terminal/work_watch.h"
#include "core/compile/pipeline.h"
#include "core/diagnostics/printable.h"
#include "core/diagnostics/progress.h"
#include "runtime/comm/comm_lockstep.h"
#include "runtime/compute/threads.h"
#include "runtime/data/feed.h"
#include "runtime/execute/executor.h"
#include "runtime/execute/recording.h"
#include "runtime/execute/replay.h"

namespace mtfc {
namespace {

struct Options {
  ModelOptions model;
  LayoutFlags layout;
  std::vector<std::string> inputs;
  uint64_t seed = 0;
  int64_t steps = 1;
  double tolerance = 0;  // 0: what rounding explains
  std::optional<int64_t> positions;
};

// A program with everything that it runs on, in this process.
struct Machine {
  explicit Machine(const Program& of, const Options& options)
      : program(of), comm(program.mesh(), processes), executor(program, comm, {options.seed, false}) {}
  const Program& program;
  Processes processes = Processes::alone();
  LockstepComm comm;
  Executor executor;
};

// How far the two programs are apart if each goes on with what it has computed itself.
struct Drift {
  double largest = 0;  // relative to the largest element of the tensor
  MadeTensor tensor;
};

double largest_magnitude(const std::vector<double>& values) {
  double largest = 0;
  for (const double value : values)
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  return largest;
}

void add_drift(const Assembled& found, const Assembled& expected, const MadeTensor& tensor, Drift& drift) {
  if (!is_float(found.value.type.dtype)) return;
  const std::vector<double> a = numbers_of(expected.value), b = numbers_of(found.value);
  const double largest = largest_magnitude(a);
  for (size_t i = 0; i < a.size(); ++i)
    if (const double relative = std::abs(a[i] - b[i]) / largest; relative > drift.largest)
      drift = {relative, tensor};
}

// Runs both programs side by side and compares them.
class Verification {
 public:
  Verification(const Program& whole, const Program& split, const Options& options)
      : whole_(whole, options), split_(split, options), recorder_(split_.executor), options_(options) {}

  void run(const std::vector<InputData>& inputs) {
    run_steps("init", {}, 1);
    const bool trains = whole_.program.find("train");
    if (trains) run_steps("train", inputs, options_.steps);
    run_steps("evaluate", inputs, trains ? 1 : options_.steps);
  }

  Comparison comparison;
  Drift drift;

 private:
  void run_steps(const char* name, const std::vector<InputData>& inputs, int64_t steps) {
    const EntryPoint &whole = *whole_.program.find(name), &split = *split_.program.find(name);
    whole_.executor.load(whole);
    split_.executor.load(split);
    Feed whole_feed(whole_.executor, whole, inputs, options_.seed);
    Feed split_feed(split_.executor, split, inputs, options_.seed);
    for (int64_t step = 0; step < steps; ++step) {
      tell_progress({fmt::format("comparing {}", name), step, steps, "steps"});
      whole_feed.fill_training(step);
      split_feed.fill_training(step);
      compare_inputs(whole, split, step);
      const Recording recording = recorder_.run(split, step);
      replay(whole_.program, whole, recording, {options_.seed, options_.tolerance}, comparison);
      whole_.executor.run(whole, step);
      find_drift(recording, whole);
    }
  }

  void compare_inputs(const EntryPoint& whole, const EntryPoint& split, int64_t step) {
    const std::map<std::string, Assembled> expected = inputs_of(whole_.executor, whole);
    for (const auto& [name, found] : inputs_of(split_.executor, split))
      if (const auto same = expected.find(name); same != expected.end())
        compare(found, {same->second.value},
                {.entry = whole.name, .step = step, .name = name, .operation = "input"}, comparison);
  }

  void find_drift(const Recording& found, const EntryPoint& entry) {
    MadeTensor tensor{.entry = entry.name, .step = found.step};
    for (const auto& [name, expected] : outputs_of(whole_.executor, entry)) {
      tensor.name = name;
      add_drift(found.outputs.at(name), expected, tensor, drift);
    }
    const std::vector<Assembled> variables = variables_of(whole_.executor);
    for (size_t v = 0; v < variables.size(); ++v) {
      tensor.name = whole_.program.variables[v].decl.name;
      add_drift(found.variables[v], variables[v], tensor, drift);
    }
  }

  Machine whole_, split_;
  Recorder recorder_;
  const Options& options_;
};

// `[batch=3, hidden=17]`
std::string place(const Dims& dims, size_t element) {
  std::string text;
  auto rest = static_cast<int64_t>(element);
  for (size_t d = dims.size(); d-- > 0;) {
    text = fmt::format("{}={}{}{}", dims[d].name, rest % dims[d].size, text.empty() ? "" : ", ", text);
    rest /= dims[d].size;
  }
  return fmt::format("[{}]", text);
}

// Reports NaNs, which a comparison can't judge.
void report_nans(const Comparison& comparison) {
  if (comparison.nans > 0)
    std::cout << fmt::format(
        "{} not a number in both runs, first in '{}'\n",
        comparison.nans == 1 ? "1 element is" : fmt::format("{} elements are", comparison.nans),
        comparison.nan_where);
}

std::string layout_text(const Program& program) {
  return fmt::format("{}, {}",
                     program.mesh().devices() == 1 ? "one device" : "mesh " + to_string(program.mesh()),
                     to_string(program.layout).empty() ? "no rules" : "layout " + to_string(program.layout));
}

int report_difference(const Difference& first, const Program& program, double tolerance) {
  const MadeTensor& tensor = first.tensor;
  const std::string where = place(tensor.type.dims, first.element);
  std::cout << fmt::format("the first tensor that differs is '{}': {}, step {}, made by {}{}, {}\n",
                           tensor.name, tensor.entry, tensor.step + 1, tensor.operation,
                           tensor.source.empty() ? "" : " at " + tensor.source, layout_text(program));
  if (first.allowed < 0)
    std::cout << fmt::format("  at {}, devices that should agree hold different values, one of which is {}\n",
                             where, number_text(first.found));
  else
    std::cout << fmt::format(
        "  at {} it is {}, and on one device, from the same operands, it is {}; {} {:.2g}\n", where,
        number_text(first.found), number_text(first.expected),
        tolerance > 0 ? "the tolerance allows" : "rounding explains", first.allowed);
  return kExitRunFailed;
}

int report(const Verification& verification, const Program& program, double tolerance) {
  const Comparison& comparison = verification.comparison;
  if (comparison.first) return report_difference(*comparison.first, program, tolerance);
  if (comparison.tensors == 0) {
    std::cout << "nothing was compared: the model has no outputs and no variables\n";
    return kExitRunFailed;
  }
  std::cout << fmt::format("the same as on one device: {} tensors compared, {}\n", comparison.tensors,
                           layout_text(program));
  if (comparison.largest > 0)
    std::cout << fmt::format("the largest difference is {:.2g} of the terms added, in '{}'\n",
                             comparison.largest, comparison.where);
  if (const Drift& drift = verification.drift; drift.largest > 0)
    std::cout << fmt::format("rounding adds up to {:.2g} of the largest element, in '{}' ({}, step {})\n",
                             drift.largest, drift.tensor.name, drift.tensor.entry, drift.tensor.step + 1);
  report_nans(comparison);
  return kExitSuccess;
}

int run(const Options& options) {
  const Sources sources = read_sources(options.model, options.layout);
  std::vector<Diagnostic> warnings;
  const auto [model, layouts] = read_model_and_layouts({&sources, 1}, options.model, warnings);
  check_held_here(layouts.front().mesh, "verify");
  std::optional<WorkWatch> watch;
  watch.emplace(std::cerr, status_place(options.model.quiet));
  CompileOptions compile_options = compile_options_of(options.model);
  compile_options.keep_all = true;
  const Program split = compile(model, layouts.front(), compile_options);
  const Program whole = compile(model, {}, compile_options);
  watch.reset();
  show(warnings, options.model.quiet);
  TextTokens texts(tokenizer_of_model(options.model.model));
  const std::vector<InputData> inputs = read_inputs(split, {options.inputs, "--input"}, {}, texts);
  require_data(*split.find(split.find("train") ? "train" : "evaluate"), inputs);
  for (const ProgramVariable& variable : split.variables)
    if (!variable.decl.init)
      throw UserError(fmt::format("the variable '{}' has no \"init\"", variable.decl.name),
                      "verify starts from initial values");
  set_threads(1);
  watch.emplace(std::cerr, status_place(options.model.quiet));
  Verification verification(whole, split, options);
  verification.run(inputs);
  watch.reset();
  const int code = report(verification, split, options.tolerance);
  const DecodeVerdict decode = verify_decode(sources, options.model, options.positions, options.seed);
  std::cout << decode.text;
  return decode.agrees ? code : kExitRunFailed;
}

std::function<int()> setup(CommandLine& line) {
  auto options = std::make_shared<Options>();
  add_model_and_layout(line, options->model, options->layout);
  line.add_hint("--json", "the exit code has the result: 0 where both runs agree, 1 where they differ");
  line.set_group(OptionGroup::kVerification);
  line.add_option("--input NAME=SPEC", options->inputs,
                  "data for an input, as for run (default: the source that the model names)");
  line.add_option("--steps N", options->steps,
                  "number of training steps, or of evaluations if the model does not train")
      .check(whole_number(1, kMostCounted))
      .show_default();
  line.add_option("--seed S", options->seed,
                  "seed of initial values, the order of data and random operations")
      .check(whole_number(0))
      .show_default();
  line.add_option("--positions N", options->positions,
                  "number of positions at which decode is compared with the model (default: all)")
      .check(whole_number(0));
  line.add_option("--tolerance R", options->tolerance,
                  "largest allowed difference of floats, relative to the magnitudes that an operation adds "
                  "(default: what rounding explains)")
      .check(positive_number());
  return [options] { return run(*options); };
}

}  // namespace

const Command kVerifyCommand = {
    .name = "verify",
    .summary =
        "run a model under a layout and on one device, and compare every tensor; compare decode with the "
        "model",
    .description =
        "Runs a model under a layout, with all devices in one process, repeats each operation on one "
        "device, and compares every tensor. The first difference that rounding does not explain ends with "
        "exit code 1. If the model can generate, the logits of `decode` are compared with those of the "
        "model.",
    .examples =
        "  mtfc verify model.json --mesh rows:2,cols:2 --layout batch:rows,hidden:cols\n"
        "  mtfc verify model.json --layout layout.json --steps 3 --input x=data.npy",
    .setup = setup,
};

}  // namespace mtfc
